# frozen_string_literal: true

# The checks of languages/README.md in Ruby: Apache Thrift's library, code generated from thrift/hbase.thrift.
#
#     program.rb HOST PORT buffered|framed|tls|https binary|compact
#
# With https it logs in by Basic, as LANGUAGES_USER with LANGUAGES_SECRET; tls trusts the CA of LANGUAGES_CA, https
# that of SSL_CERT_FILE, which Ruby reads at its start.
# Prints `ok <number of checks>` and ends with 0, or says what was wrong and ends with 1.

require 'openssl'
require 'securerandom'
require 'thrift'
require 'hbase'

Hb = Apache::Hadoop::Hbase::Thrift

BINARY = {
  "\x00".b => (0..255).map(&:chr).join.b,
  "\x00\xff".b => ''.b,
  "\x80\xc3\x28".b => "\xff\xfe\x00".b, # not UTF-8, in the key and in the value
  "\xff".b => "\xc3\x28".b
}.freeze

# A program's run: the client, a table of its own, and how many checks have passed.
class Checks
  attr_reader :count

  def initialize(client, table)
    @client = client
    @table = table
    @count = 0
  end

  def all
    make_table
    write_and_read
    scan
    count_and_compare
    refusals_and_end
  end

  private

  def check(what, got, expected)
    @count += 1
    raise "#{what}: got #{got.inspect}, expected #{expected.inspect}" unless got == expected
  end

  # The block raises `error`, whose message begins with `message`.
  def refused(what, error, message)
    answer = yield
  rescue error => e
    check(what, e.message[0, message.length], message)
  else
    raise "#{what}: got #{answer.inspect}, expected #{error}"
  end

  def put(column, value)
    Hb::Mutation.new(column: column, value: value)
  end

  def make_table
    families = [Hb::ColumnDescriptor.new(name: 'f', maxVersions: 5), Hb::ColumnDescriptor.new(name: 'n:')]
    @client.createTable(@table, families)
    check('the new table is listed', @client.getTableNames.include?(@table), true)
    families = @client.getColumnDescriptors(@table)
    check('families', families.keys.sort, ['f:', 'n:'])
    check('versions of f', families['f:'].maxVersions, 5)
    refused('second create', Hb::AlreadyExists, 'table name already in use') do
      @client.createTable(@table, [Hb::ColumnDescriptor.new(name: 'f')])
    end
  end

  def write_and_read
    batches = BINARY.map { |row, value| Hb::BatchMutation.new(row: row, mutations: [put('f:v', value)]) }
    @client.mutateRows(@table, batches, {})
    BINARY.each { |row, value| check("value of row #{row.inspect}", @client.get(@table, row, 'f:v', {})[0].value, value) }
    result = @client.getRow(@table, "\xff".b, {})[0]
    check('row of getRow', result.row, "\xff".b)
    check('columns of getRow', result.columns.transform_values(&:value), { 'f:v'.b => "\xc3\x28".b })
    check('a row that is not there', @client.getRow(@table, "\xff\xff".b, {}), [])

    column = "f:\x00\xff:\x80".b
    @client.mutateRow(@table, "\x00".b, [put(column, 'by name')], {})
    check('a column with a binary name', @client.get(@table, "\x00".b, column, {})[0].value, 'by name')
    @client.mutateRow(@table, "\x00".b, [Hb::Mutation.new(isDelete: true, column: column)], {})
    check('the column after its delete', @client.get(@table, "\x00".b, column, {}), [])

    [[1000, 'old'], [2000, 'new']].each do |timestamp, value|
      @client.mutateRowTs(@table, 'versions', [put('f:v', value)], timestamp, {})
    end
    versions = @client.getVer(@table, 'versions', 'f:v', 5, {}).map { |cell| [cell.timestamp, cell.value] }
    check('versions, newest first', versions, [[2000, 'new'], [1000, 'old']])
    @client.deleteAllRow(@table, 'versions', {})
  end

  def scan
    texts = { 'text-1' => 'keep 1', 'text-2' => 'drop', 'text-3' => 'keep 3' }
    batches = texts.map { |row, value| Hb::BatchMutation.new(row: row, mutations: [put('f:v', value)]) }
    @client.mutateRows(@table, batches, {})
    scanner = @client.scannerOpenWithScan(@table, Hb::TScan.new(columns: ['f'], sortColumns: true), {})
    rows = @client.scannerGetList(scanner, 100)
    check('rows in the order of their bytes', rows.map(&:row), (BINARY.keys + texts.keys.map(&:b)).sort)
    check('a sorted column', rows[0].sortedColumns[0].columnName, 'f:v')
    check('its value', rows[0].sortedColumns[0].cell.value, BINARY["\x00".b])
    check('the end of a scan', @client.scannerGetList(scanner, 100), [])
    @client.scannerClose(scanner)
    refused('closed scanner', Hb::IllegalArgument, 'scanner ID is invalid') { @client.scannerGetList(scanner, 1) }
    refused('unknown scanner', Hb::IllegalArgument, 'scanner ID is invalid') do
      @client.scannerGetList(2_147_480_000, 1)
    end

    chosen = "PrefixFilter('text-') AND ValueFilter(=, 'substring:keep')"
    scanner = @client.scannerOpenWithScan(@table, Hb::TScan.new(filterString: chosen), {})
    found = @client.scannerGetList(scanner, 100).map { |row| [row.row, row.columns['f:v'].value] }
    @client.scannerClose(scanner)
    check('rows of a filtered scan', found, [['text-1', 'keep 1'], ['text-3', 'keep 3']])
  end

  def count_and_compare
    check('first increment', @client.atomicIncrement(@table, 'count', 'n:c', 1 << 40), 1 << 40)
    check('increment by less than nothing', @client.atomicIncrement(@table, 'count', 'n:c', -2), (1 << 40) - 2)
    @client.increment(Hb::TIncrement.new(table: @table, row: 'count', column: 'n:c', ammount: 3))
    check('counter as stored', @client.get(@table, 'count', 'n:c', {})[0].value, [(1 << 40) + 1].pack('q>'))
    after = put('f:v', 'after')
    check('checkAndPut of another value', @client.checkAndPut(@table, 'text-2', 'f:v', 'keep', after, {}), false)
    check('checkAndPut of the value', @client.checkAndPut(@table, 'text-2', 'f:v', 'drop', after, {}), true)
    append = Hb::TAppend.new(table: @table, row: 'text-2', columns: ['f:v'], values: ["\x00\xff".b])
    check('append', @client.append(append).map(&:value), ["after\x00\xff".b])
  end

  def refusals_and_end
    package = 'org.apache.hadoop.hbase.'
    refused('missing table', Hb::IOError, "#{package}TableNotFoundException") do
      @client.getRow("#{@table}_no", 'r', {})
    end
    refused('missing family', Hb::IOError, "#{package}regionserver.NoSuchColumnFamilyException") do
      @client.get(@table, 'r', 'none:v', {})
    end
    refused('drop while enabled', Hb::IOError, "#{package}TableNotDisabledException") { @client.deleteTable(@table) }
    @client.disableTable(@table)
    check('enabled after disableTable', @client.isTableEnabled(@table), false)
    @client.deleteTable(@table)
    check('the dropped table is listed', @client.getTableNames.include?(@table), false)
  end
end

def transport_of(name, host, port)
  case name
  when 'framed' then Thrift::FramedTransport.new(Thrift::Socket.new(host, port))
  when 'tls'
    context = OpenSSL::SSL::SSLContext.new
    context.ca_file = ENV.fetch('LANGUAGES_CA')
    context.verify_mode = OpenSSL::SSL::VERIFY_PEER
    Thrift::BufferedTransport.new(Thrift::SSLSocket.new(host, port, nil, context))
  when 'https'
    posts = Thrift::HTTPClientTransport.new("https://#{host}:#{port}/")
    pair = "#{ENV.fetch('LANGUAGES_USER')}:#{ENV.fetch('LANGUAGES_SECRET')}"
    posts.add_headers('Authorization' => "Basic #{[pair].pack('m0')}")
    posts
  else Thrift::BufferedTransport.new(Thrift::Socket.new(host, port))
  end
end

host, port, transport_name, protocol_name = ARGV
transport = transport_of(transport_name, host, port.to_i)
protocol = (protocol_name == 'compact' ? Thrift::CompactProtocol : Thrift::BinaryProtocol).new(transport)
table = "languages_ruby_#{SecureRandom.hex(6)}"
checks = Checks.new(Hb::Hbase::Client.new(protocol), table)
transport.open
begin
  checks.all
rescue StandardError => e
  puts "after #{checks.count} checks on #{table}: #{e.class}: #{e.message}"
  exit 1
ensure
  transport.close
end
puts "ok #{checks.count}"
