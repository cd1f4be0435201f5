import { TransportError } from '../transport.ts'
import { ask } from './connections.ts'
import { errorName } from './errors.ts'
import { apiVersionsV3, type Connection } from './protocol.ts'

interface NeededRequest {
  readonly name: string
  readonly key: number
  readonly version: number
}

/**
 * The request types that the transport uses, except ApiVersions, with their API keys and the versions that the broker
 * must support. A broker closes the connection when it does not support a request, so without this check, an
 * unsupported request would look like a network failure.
 */
const NEEDED: readonly NeededRequest[] = [
  { name: 'ConsumerGroupHeartbeat', key: 68, version: 1 },
  { name: 'Fetch', key: 1, version: 17 },
  { name: 'Produce', key: 0, version: 11 },
  { name: 'ListOffsets', key: 2, version: 9 },
  { name: 'Metadata', key: 3, version: 12 },
  { name: 'OffsetCommit', key: 8, version: 9 },
  { name: 'OffsetFetch', key: 9, version: 9 },
  { name: 'FindCoordinator', key: 10, version: 4 },
  { name: 'CreateTopics', key: 19, version: 7 },
  { name: 'InitProducerId', key: 22, version: 4 },
  { name: 'OffsetForLeaderEpoch', key: 23, version: 4 },
  { name: 'AddPartitionsToTxn', key: 24, version: 3 },
  { name: 'AddOffsetsToTxn', key: 25, version: 4 },
  { name: 'EndTxn', key: 26, version: 4 },
  { name: 'TxnOffsetCommit', key: 28, version: 4 },
  { name: 'DescribeConfigs', key: 32, version: 4 },
  { name: 'IncrementalAlterConfigs', key: 44, version: 1 },
  { name: 'DescribeTransactions', key: 65, version: 0 },
  { name: 'ListTransactions', key: 66, version: 1 },
  { name: 'ConsumerGroupDescribe', key: 69, version: 0 },
]
/** Later request versions that the transport uses if the leaders themselves add their partitions to a transaction. */
const NEEDED_IF_LEADERS_ADD: readonly NeededRequest[] = [
  { name: 'Produce', key: 0, version: 12 },
  { name: 'EndTxn', key: 26, version: 5 },
  { name: 'TxnOffsetCommit', key: 28, version: 5 },
]
/**
 * The first transaction version in which the leaders themselves add their partitions to a transaction, and the group
 * coordinators add their groups (KIP-890).
 */
export const LEADERS_ADD = 2

const GROUP_FEATURE = 'group.version'
const TRANSACTION_FEATURE = 'transaction.version'

interface Versions {
  readonly errorCode: number
  readonly apiKeys: readonly { readonly apiKey: number; readonly minVersion: number; readonly maxVersion: number }[]
  readonly finalizedFeatures?: readonly { readonly name: string; readonly maxVersionLevel: number }[]
}

/**
 * Checks that the broker supports all requests of the transport.
 * @returns the transaction version that is enabled in the cluster (the level of its feature `transaction.version`)
 * @throws a fatal TransportError with code UNSUPPORTED_BROKER if the broker does not support a request, for example
 * because it is older than Kafka 4.0, or if its feature `group.version` is off; Disconnected when it does not answer
 */
export async function checkBrokerVersion(connection: Connection): Promise<number> {
  const versions = await ask(connection, apiVersionsV3.api, 'millrace', '1')
  refuseOldBroker(versions, `${connection.host}:${connection.port}`)
  return transactionVersionOf(versions)
}

function transactionVersionOf(versions: Versions): number {
  return levelOf(versions, TRANSACTION_FEATURE) ?? 0
}

function levelOf({ finalizedFeatures }: Versions, name: string): number | undefined {
  return finalizedFeatures?.find((feature) => feature.name === name)?.maxVersionLevel
}

export function refuseOldBroker(versions: Versions, address: string): void {
  const refuse = (reason: string) => {
    throw new TransportError('UNSUPPORTED_BROKER', `${address} is not a broker that this transport supports: ${reason}`, { fatal: true })
  }
  if (versions.errorCode !== 0) {
    refuse(`it answers ApiVersions v3 with ${errorName(versions.errorCode)}; Kafka 4.0 or newer is needed`)
  }
  const needed = transactionVersionOf(versions) >= LEADERS_ADD ? [...NEEDED, ...NEEDED_IF_LEADERS_ADD] : NEEDED
  for (const { name, key, version } of needed) {
    const known = versions.apiKeys.find((api) => api.apiKey === key)
    if (known === undefined || known.maxVersion < version) {
      refuse(
        `it supports ${known ? `${name} up to v${known.maxVersion}` : `no ${name}`}, but v${version} is needed; upgrade to Kafka 4.0 or newer`,
      )
    } else if (known.minVersion > version) {
      refuse(`it no longer supports ${name} v${version} (oldest: v${known.minVersion}); this release of the transport is too old for it`)
    }
  }
  const group = levelOf(versions, GROUP_FEATURE)
  if (group !== undefined && group < 1) {
    refuse(`its feature ${GROUP_FEATURE} is off; enable it: kafka-features.sh upgrade --feature ${GROUP_FEATURE}=1`)
  }
}
