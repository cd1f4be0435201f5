import { type Bindings, redisBindings } from '../../../../api/kit/commands/idempotency.ts'
import type { ResultChannel } from '../../../../api/kit/commands/result-channel.ts'
import { ApiError, errors } from '../../../../api/kit/errors.ts'
import type { Facts } from '../../../../api/kit/facts.ts'
import type { SpoolingFacts } from '../../../../api/kit/spool/spooling-publisher.ts'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import type { AnyTopic, Topology } from '../../../../pipelines/engine/index.ts'
import { type TestDriver, testDriver } from '../../../../pipelines/engine/testing.ts'
import { byteWriter } from '../../../../schemas/codec.ts'
import { parseResultMessage, RESULT_CHANNEL_PREFIX } from '../../../../state/views/results.ts'
import type { View, ViewOperation } from '../../../../state/views/view.ts'
import { fakeRedis } from '../../../state/views/fake-redis.ts'

/** Partition count of topics that these tests do not read. */
const OTHER_PARTITIONS = 4

/**
 * Fakes of the servers behind an API. The real topology decides commands on the test driver, and its output feeds the
 * views in an in-memory Redis.
 */
export interface DecidedWorld {
  readonly driver: TestDriver
  readonly redis: ReturnType<typeof fakeRedis>
  readonly facts: Facts & SpoolingFacts
  readonly bindings: Bindings
  readonly channel: ResultChannel & { isOpen: boolean; reopen(): void }
  /** Published commands and facts, in order. */
  readonly published: { readonly topic: string; readonly key: unknown; readonly value: unknown }[]
  /** Faults that a test can switch on: Kafka refuses writes, no commands are decided, or result messages are lost. */
  readonly faults: { kafkaDown: boolean; deciderDown: boolean; messagesLost: boolean }
  /** Decides the commands that have been waiting since `deciderDown` was set. */
  decide(): void
  /** Removes the bindings of idempotency keys and the results of commands, but keeps the views. */
  loseRedis(): void
}

export interface WorldOptions {
  readonly topology: Topology
  /** Pairs of a topic and a view that it feeds. */
  // biome-ignore lint/suspicious/noExplicitAny: views of any values
  readonly views: readonly (readonly [AnyTopic, View<string, any>])[]
  /** Topics that feed the topology. Records of other topics only go to `published`. */
  readonly commands: readonly AnyTopic[]
  readonly startAt: number
}

export function decidedWorld({ topology, views, commands, startAt }: WorldOptions): DecidedWorld {
  const driver = testDriver(topology, { startAt })
  const stored = new Map<string, string>()
  const redis = fakeRedis()
  /** All operations on the views so far, so that the views can be rebuilt. */
  const applied: ViewOperation[] = []
  const published: DecidedWorld['published'] = []
  const faults = { kafkaDown: false, deciderDown: false, messagesLost: false }
  const waiting: (() => void)[] = []
  const counts = new Map([...commands, ...views.map(([topic]) => topic)].map(({ name, partitions }) => [name, partitions]))
  const partitionsOf = ({ name }: { readonly name: string }) => counts.get(name) ?? OTHER_PARTITIONS
  let seen = 0
  let onResult: Parameters<ResultChannel['listen']>[0] = () => undefined
  let onOpen = () => undefined as undefined

  const channel = {
    name: 'api-1',
    isOpen: true,
    listen(listener: typeof onResult, opened: () => void) {
      onResult = listener
      onOpen = () => void opened()
    },
    reopen() {
      channel.isOpen = true
      onOpen()
    },
    check() {},
    close() {},
  }

  function apply(operations: readonly ViewOperation[]): void {
    redis.apply(operations)
    applied.push(...operations.filter((operation) => operation.op !== 'publish' && !operation.key.includes(':result:')))
  }

  function catchUp(): void {
    for (const [topic, view] of views) redis.caughtUp(view.name, partitionsOf(topic))
  }

  /**
   * Simulates a Redis that was flushed, or that failed over to an empty replica, after the sinks have rebuilt its
   * views. Only the bindings of idempotency keys and the results of commands are lost.
   */
  function loseRedis(): void {
    redis.flush()
    stored.clear()
    redis.apply(applied)
    catchUp()
  }

  function takeDecisions(): void {
    for (const [topic, view] of views) {
      for (const { key, value, partition } of driver.read(topic)) {
        const heldKey = view.heldKey?.(partition, key as string, value)
        const held = heldKey === undefined ? null : redis.held(heldKey)
        apply(view.operationsFor(partition, key as string, value, { held, now: driver.now }))
      }
    }
    for (const { channel: to, message } of redis.published.slice(seen)) {
      if (!faults.messagesLost && to === RESULT_CHANNEL_PREFIX + channel.name) onResult(parseResultMessage(message))
    }
    seen = redis.published.length
  }

  function decide(): void {
    for (const command of waiting.splice(0)) command()
    takeDecisions()
  }

  const facts: Facts & SpoolingFacts = {
    async publish(topic, key, value) {
      if (faults.kafkaDown) throw new ApiError(errors.unavailable)
      published.push({ topic: topic.name, key, value })
      if (!commands.some((known) => known.name === topic.name)) return
      waiting.push(() => driver.pipe(topic, key, value))
      if (!faults.deciderDown) decide()
    },
    async publishOrSpool(topic, key, value) {
      if (faults.kafkaDown) return 'spooled'
      await facts.publish(topic, key, value)
      return 'acknowledged'
    },
    async *spooled() {},
    partitionOf(topic, key) {
      const out = byteWriter()
      topic.key.encode(key, out)
      return partitionFor(out.buffer, partitionsOf(topic), 0, out.length)
    },
    partitionsOf,
  }
  const bindings = redisBindings({
    async get(key) {
      if (redis.state.down) throw new ApiError(errors.unavailable)
      return stored.get(key) ?? null
    },
    async setIfAbsent(key, value) {
      if (redis.state.down) throw new ApiError(errors.unavailable)
      const before = stored.get(key) ?? null
      if (before === null) stored.set(key, value)
      return before
    },
    async delete(key) {
      if (redis.state.down) throw new ApiError(errors.unavailable)
      stored.delete(key)
    },
  })
  catchUp()
  return { driver, redis, facts, bindings, channel, published, faults, decide, loseRedis }
}
