// What java.util.regex answers: a line is a pattern and texts, each in base64, apart by spaces; the answer is "E" when
// the pattern is refused, else one digit for each text: 1 found, 0 not found, S the search overflowed Java's stack.
// As HBase's RegexStringComparator: flag DOTALL, find() over the text.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.regex.Pattern;

public class JavaPatterns {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ", -1);
            out.println(answer(parts));
            out.flush();
        }
    }

    private static String answer(String[] parts) {
        Pattern pattern;
        try {
            pattern = Pattern.compile(text(parts[0]), Pattern.DOTALL);
        } catch (RuntimeException error) {
            return "E";
        }
        StringBuilder answers = new StringBuilder();
        for (int n = 1; n < parts.length; n++) {
            try {
                answers.append(pattern.matcher(text(parts[n])).find() ? '1' : '0');
            } catch (StackOverflowError error) {
                answers.append('S');
            }
        }
        return answers.toString();
    }

    private static String text(String base64) {
        return new String(Base64.getDecoder().decode(base64), StandardCharsets.UTF_8);
    }
}
