/*
 * What the master offers to clients inside a cluster: administration of tables and namespaces. Transport, protocol and
 * errors as in tabletserver.thrift; table schemas are table records (docs/formats.md) whose id and state mean nothing.
 * A process that is not the master now answers Unavailable.
 */

include "tabletserver.thrift"

namespace py hbtable.master

service MasterService {
  void create_table(1: binary schema, 2: list<binary> splitRows) throws (1: tabletserver.RpcError error),
  void delete_table(1: binary name) throws (1: tabletserver.RpcError error),
  void enable_table(1: binary name) throws (1: tabletserver.RpcError error),
  void disable_table(1: binary name) throws (1: tabletserver.RpcError error),
  void alter_table(1: binary schema) throws (1: tabletserver.RpcError error),
  void truncate_table(1: binary name, 2: bool keepSplits) throws (1: tabletserver.RpcError error),
  /** Empty server: the least loaded other one, if there is one. */
  void move_tablet(1: binary name, 2: i64 tablet, 3: string server) throws (1: tabletserver.RpcError error),
  /** Two or more neighbours become one tablet, which is served on return. */
  void merge_tablets(1: binary name, 2: list<i64> tablets) throws (1: tabletserver.RpcError error),
  /** False: switched off, or a tablet has no server, or a server is stopping or silent. */
  bool balance() throws (1: tabletserver.RpcError error),
  /** Whether it was on before. */
  bool balance_switch(1: bool on) throws (1: tabletserver.RpcError error),
  bool balancer_enabled() throws (1: tabletserver.RpcError error),
  /** No tablet is placed on these servers from now on; with offload those that they have are moved away. */
  void decommission(1: list<string> servers, 2: bool offload) throws (1: tabletserver.RpcError error),
  void recommission(1: string server) throws (1: tabletserver.RpcError error),
  tabletserver.Collection collect_garbage() throws (1: tabletserver.RpcError error),
  /** The master looks at every tablet at once, whether or not servers came or went. */
  void look_at_everything() throws (1: tabletserver.RpcError error),
  void create_namespace(1: binary name, 2: map<string, string> properties) throws (1: tabletserver.RpcError error),
  void alter_namespace(1: binary name, 2: map<string, string> properties) throws (1: tabletserver.RpcError error),
  void delete_namespace(1: binary name) throws (1: tabletserver.RpcError error),
  /** Does nothing: that it is answered says that the master can be reached. */
  void ping_master() throws (1: tabletserver.RpcError error)
}
