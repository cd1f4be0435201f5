import { partitionFor } from '../../kafka/partitioner.ts'
import { matchIndex, stackRefillRequests } from '../../schemas/matches/topics.ts'
import { boundedScripts } from '../../state/redis/bounded-scripts.ts'
import { connectScriptRedis } from '../../state/redis/connect-scripts.ts'
import { connectSinkRedis } from '../../state/views/connect.ts'
import { refillStack } from '../../state/views/matches/refill.ts'
import { viewReader } from '../../state/views/reader.ts'
import { createSink, type Runner, type SinkSeat, sinkRunner, TargetUnavailableError } from '../engine/index.ts'
import type { SinkContext, SinkDeclaration } from '../sinks.ts'
import { refillTarget } from './refill-target.ts'

const NAME = 'match-stack-refills'
const TOPICS = [stackRefillRequests]
const SCRIPT_TIMEOUT_MS = 1_000

/** Searches for candidates in the background, so that the next feed request need not search. */
export const stackRefillSink: SinkDeclaration = {
  name: NAME,
  topics: TOPICS,
  store: 'redis',
  open({ config, transport, registry, runtime }: SinkContext, seat: SinkSeat): Runner {
    const place = { url: config.redisUrl, cluster: config.redisCluster }
    const redis = connectSinkRedis(place, runtime.log)
    const scriptRedis = connectScriptRedis(place)
    const reader = viewReader(redis)
    const scripts = boundedScripts({ redis: scriptRedis, timeoutMs: SCRIPT_TIMEOUT_MS, monotonic: () => runtime.monotonic() })

    async function create() {
      const cells = (await transport.partitionCounts([matchIndex.name])).get(matchIndex.name)
      if (cells === undefined) throw new TargetUnavailableError(`topic ${matchIndex.name} does not exist yet`)
      const partitionOfCell = (geohash4: string) => partitionFor(Buffer.from(geohash4), cells)
      const deps = { reader, scripts, partitionOfCell, now: () => runtime.now() }
      const target = refillTarget({
        refill: (partition, userId) => refillStack(deps, partition, userId, runtime.id()),
        runtime,
      })
      return createSink({ name: NAME, topics: TOPICS }, { transport, registry, target, seat, runtime })
    }

    async function close(): Promise<void> {
      redis.disconnect()
      scriptRedis.disconnect()
    }

    return sinkRunner({ name: NAME, create, close }, runtime)
  },
}
