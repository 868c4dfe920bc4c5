# Sourced by real-hdfs and real-zookeeper: jars, and JVMs in the background whose pids are kept in $place/NAME.pid.
# Expects $here (this folder), $port and $place (where this server keeps everything).
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hbtable-tests/hadoop-3.4.2
jars=$cache/jars

# The first compiler alone: these servers live for minutes, and start with 40 % less of the processor. A benchmark sets
# JVM_COMPILER to nothing.
compiler=${JVM_COMPILER--XX:TieredStopAtLevel=1}

install_jars() {
  [ ! -e "$cache/jars.complete" ] || return 0
  mkdir -p "$cache"
  # One at a time: two that copy into one folder leave halves of files behind.
  (
    flock 9
    [ ! -e "$cache/jars.complete" ] || exit 0
    mvn -q -B -f "$here/hadoop-pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars"
    touch "$cache/jars.complete"
  ) 9>"$cache/jars.lock"
}

property() { printf '  <property><name>%s</name><value>%s</value></property>\n' "$1" "$2"; }

write_logging() { # FOLDER
  echo '*.period=1' >"$1/hadoop-metrics2.properties" # seconds; tests read what servers count
  cat >"$1/log4j.properties" <<L
log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %-5p [%t] %c{2}: %m%n
log4j.logger.org.apache.hadoop.hdfs.StateChange=WARN
log4j.logger.BlockStateChange=WARN
log4j.logger.org.apache.hadoop.hdfs.server.datanode.DataNode.clienttrace=WARN
L
}

running() { [ -e "$place/$1.pid" ] && kill -0 "$(cat "$place/$1.pid")" 2>/dev/null; }

background() { # NAME HEAP CLASS_PATH CLASS ARGUMENTS...: a JVM whose log is NAME.log
  local name=$1 heap=$2 class_path=$3
  shift 3
  (cd "$place" && exec setsid nohup java "@$here/jvm-options" -XX:+UseSerialGC $compiler "-Xmx$heap" \
    "-Dhadoop.home.dir=$place" "-Djava.library.path=$place" -cp "$class_path" "$@") \
    >/dev/null 2>>"$place/$name.log" </dev/null 9>&- &
  echo $! >"$place/$name.pid"
}

wait_until() { # NAME CHECK...: two minutes at most
  local name=$1
  shift
  for _ in $(seq 600); do
    if "$@" 2>/dev/null; then return 0; fi
    running "$name" || break
    sleep 0.2
  done
  echo "$name did not start; see $place/$name.log" >&2
  return 1
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

end() { # NAME: asked politely for 3 s; a frozen one is woken first
  running "$1" || { rm -f "$place/$1.pid"; return 0; }
  local pid
  pid=$(cat "$place/$1.pid")
  kill -CONT "$pid" 2>/dev/null || true
  kill "$pid" 2>/dev/null || true
  for _ in $(seq 15); do
    if ! kill -0 "$pid" 2>/dev/null; then break; fi
    sleep 0.2
  done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$place/$1.pid"
}

explain() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0"; }
