import { partitionFor } from '../../../kafka/partitioner.ts'
import { matchNotifications, matchProfiles } from '../../../schemas/matches/topics.ts'
import { connectLookupRedis } from '../../../state/views/connect.ts'
import { checkMatch, type PushCheckReader } from '../../../state/views/matches/push-check.ts'
import { httpSender, TargetUnavailableError } from '../../engine/index.ts'
import { deliverySink, type OpenReceiver, type OwnSinkContext } from '../../sinks.ts'
import type { PushSettings } from './settings.ts'
import { loggedPushes, PUSH_CONCURRENCY, pushTarget, webhookPushes } from './target.ts'

/** Sends a push to each user of a new match through the operator's webhook, or only logs the pushes. */
export const matchPushes = deliverySink<PushSettings>('match-pushes', matchNotifications, openPushes)

async function openPushes({ config, transport, runtime, resources: { webhook } }: OwnSinkContext<PushSettings>): Promise<OpenReceiver> {
  const counts = await transport.partitionCounts([matchProfiles.name])
  const partitions = counts.get(matchProfiles.name)
  if (partitions === undefined) throw new TargetUnavailableError(`topic ${matchProfiles.name} does not exist yet`)
  const redis = connectLookupRedis({ url: config.redisUrl, cluster: config.redisCluster }, runtime.log)
  const reader: PushCheckReader = {
    get: (key) => redis.get(key),
    hget: (key, field) => redis.hget(key, field),
    hmget: (key, fields) => redis.hmget(key, ...fields),
  }
  const sender = webhook && httpSender({ url: webhook.url, connections: PUSH_CONCURRENCY }, runtime)
  const target = pushTarget({
    send: webhook && sender ? webhookPushes(sender, webhook.secrets, runtime.now) : loggedPushes(runtime.log),
    check: (match) => checkMatch(reader, match),
    now: runtime.now,
    partitionOf: (userId) => partitionFor(Buffer.from(userId), partitions),
  })
  return {
    target,
    async close() {
      sender?.close()
      redis.disconnect()
    },
  }
}
