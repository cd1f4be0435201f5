import keySlot from 'cluster-key-slot'
import type { ScriptClient } from './run-script.ts'

/** The client of a cluster. `slots` contains the servers of each hash slot, the master first. */
interface ClusterClient extends ScriptClient {
  readonly slots: readonly (readonly string[] | undefined)[]
}

/** Shows which keys one script can use, and which keys become unavailable together. */
export interface ServersOfKeys {
  /** Returns the group of a key or of its hash tag. One script can use all keys of the same group. */
  groupOf(key: string): string
  /** Returns the server of a group. Groups on the same server fail together. */
  nodeOf(group: string): string
}

/** With a single server, all keys belong to one group. */
const ONE_SERVER: ServersOfKeys = { groupOf: () => '', nodeOf: () => '' }

export function serversOfKeys(redis: ScriptClient): ServersOfKeys {
  if (!isClusterClient(redis)) return ONE_SERVER
  return {
    groupOf: (key) => String(keySlot(key)),
    nodeOf: (group) => redis.slots[Number(group)]?.[0] ?? '',
  }
}

function isClusterClient(redis: ScriptClient): redis is ClusterClient {
  return redis.isCluster === true
}
