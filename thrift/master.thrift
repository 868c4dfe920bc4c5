/*
 * What the master offers to clients inside a cluster: administration of tables and namespaces. Transport, protocol and
 * errors as in tabletserver.thrift; table schemas are table records (docs/formats.md) whose id and state mean nothing.
 * A process that is not the master now answers Unavailable.
 */

include "tabletserver.thrift"

namespace py hbtable.master

service MasterService {
  /** The user `creator` gets every right to it; older releases give him none. TableExists, NamespaceNotFound,
   * InvalidRequest. */
  void create_table(1: binary schema, 2: list<binary> splitRows, 3: optional string creator)
    throws (1: tabletserver.RpcError error),
  /** TableNotFound, TableNotDisabled. */
  void delete_table(1: binary name) throws (1: tabletserver.RpcError error),
  /** TableNotFound, TableNotDisabled when it is enabled. */
  void enable_table(1: binary name) throws (1: tabletserver.RpcError error),
  /** TableNotFound, TableNotEnabled when it is disabled. */
  void disable_table(1: binary name) throws (1: tabletserver.RpcError error),
  /** Replaces the schema whose version is one less. Conflict when another change came first. */
  void alter_table(1: binary schema) throws (1: tabletserver.RpcError error),
  /** All cells are gone and the table is enabled on return; one tablet, or those it had. TableNotFound,
   * TableNotDisabled. */
  void truncate_table(1: binary name, 2: bool keepSplits) throws (1: tabletserver.RpcError error),
  /** Served by that server on return, loaded anew if it had it; "": by the least loaded other one, if there is one.
   * TableNotFound, TableNotEnabled, InvalidRequest for an unknown tablet or server. MoveFailed: it was taken from its
   * server, and that one could not load it. */
  void move_tablet(1: binary name, 2: i64 tabletId, 3: string server) throws (1: tabletserver.RpcError error),
  /** They are one tablet, served, on return. TableNotFound, TableNotEnabled, InvalidRequest unless they are two or more
   * neighbours of this table; Unavailable when nothing was merged; OutcomeUnknown: perhaps some. */
  void merge_tablets(1: binary name, 2: list<i64> tabletIds) throws (1: tabletserver.RpcError error),
  /** Moves tablets until all servers serve about as many. False: it is switched off, or the cluster is not calm enough:
   * a tablet has no server, or a server is stopping or silent; or other operations go on with what could move. */
  bool balance() throws (1: tabletserver.RpcError error),
  /** Whether the master balances by itself from now on; whether it did before. */
  bool balance_switch(1: bool on) throws (1: tabletserver.RpcError error),
  /** Whether it does now. */
  bool balancer_enabled() throws (1: tabletserver.RpcError error),
  /** Small and emptied neighbours in these tables, in all without any, are merged from now on, in the background.
   * False: it is switched off. Older releases do not know the call. */
  bool normalize(1: list<binary> tables) throws (1: tabletserver.RpcError error),
  /** Whether the master merges them, by itself or when it is asked, from now on; whether it did before. Older releases
   * do not know the call. */
  bool normalizer_switch(1: bool on) throws (1: tabletserver.RpcError error),
  /** Whether it does now. Older releases do not know the call. */
  bool normalizer_enabled() throws (1: tabletserver.RpcError error),
  /** No tablet is placed on these tablet servers from now on, for as long as they live; with `offload` those that they
   * serve are moved away in the background. InvalidRequest: one of them is not there, or no other one would be left to
   * take tablets; none was marked. */
  void decommission(1: list<string> servers, 2: bool offload) throws (1: tabletserver.RpcError error),
  /** The server takes tablets again. InvalidRequest when it is not there. */
  void recommission(1: string server) throws (1: tabletserver.RpcError error),
  /** One collection, over on return. Unavailable while METADATA or the file system is: nothing was removed. */
  tabletserver.Collection collect_garbage() throws (1: tabletserver.RpcError error),
  /** The master looks at every tablet at once, and repairs what it finds, whether or not servers came or went. */
  void look_at_everything() throws (1: tabletserver.RpcError error),
  /** AlreadyExists, InvalidRequest. */
  void create_namespace(1: binary name, 2: map<string, string> properties) throws (1: tabletserver.RpcError error),
  /** All its properties from now on. NamespaceNotFound, InvalidRequest for one that cannot be changed. */
  void alter_namespace(1: binary name, 2: map<string, string> properties) throws (1: tabletserver.RpcError error),
  /** NamespaceNotFound; InvalidRequest while it holds tables, and for those that always exist. */
  void delete_namespace(1: binary name) throws (1: tabletserver.RpcError error),
  /** As TabletAdmin.task_deaths, of the master's process. */
  list<string> master_task_deaths() throws (1: tabletserver.RpcError error),
  /** The reason why tablets stay although servers have more of them than others, for people; "": they move, or are
   * spread evenly. Older releases do not know the call. */
  string balancer_rests() throws (1: tabletserver.RpcError error),
  /** Nothing: that it is answered says that the master can be reached. */
  void ping_master() throws (1: tabletserver.RpcError error),
  /** At most `limit` of what HBase's `throttle_type` counts (REQUEST_NUMBER, WRITE_SIZE...) in so many `seconds`. It
   * holds for each tablet server, or with `cluster` for all together. It counts calls of this user, calls for this
   * namespace or table, or with `every_server` all calls. 0: no limit; if no type is given, none of any type.
   * InvalidRequest, LimitExceeded. Older releases do not know the call. */
  void set_throttle(1: string user, 2: binary namespaceName, 3: binary table, 4: bool everyServer,
    5: string throttleType, 6: i64 limit, 7: i64 seconds, 8: bool cluster) throws (1: tabletserver.RpcError error),
  /** The files of this table, or of this namespace's tables together, have at most `limit` bytes. When they have more,
   * HBase's `policy` (NO_INSERTS, NO_WRITES, NO_WRITES_COMPACTIONS, DISABLE) is in force within some seconds, until
   * they have less. 0: no limit. InvalidRequest, LimitExceeded. Older releases do not know the call. */
  void set_space_limit(1: binary namespaceName, 2: binary table, 3: i64 limit, 4: string policy)
    throws (1: tabletserver.RpcError error),
  /** Each table that users made: `table`, `bytes` of its files, and `limit`, `policy` and `violated` if it has a limit
   * of space, or its namespace. Unavailable while a tablet server does not answer. Older releases do not know the call.
   * */
  list<map<string, string>> space_usage() throws (1: tabletserver.RpcError error),
  /** Whether this user's calls count for no throttle but his own. InvalidRequest, LimitExceeded. Older releases do not
   * know the call. */
  void set_quota_exemption(1: string user, 2: bool exempt) throws (1: tabletserver.RpcError error),
  /** Whether throttles are in force from now on; whether they were before. Older releases do not know the call. */
  bool set_throttling(1: bool on) throws (1: tabletserver.RpcError error),
  /** Whether they are now. Older releases do not know the call. */
  bool throttling_enabled() throws (1: tabletserver.RpcError error),
  /** Everything that is set: of each `user`, `namespace` and `table` as they are named, then `type`, `limit`, `seconds`
   * and `scope`, or `space`, `policy` and `violated`, or `exempt`. Older releases do not know the call. */
  list<map<string, string>> quotas() throws (1: tabletserver.RpcError error)
}
