import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import { FencedError, type ProducerOptions, type Transport, TransportError, type WorkerProducer } from '../../../../kafka/transport.ts'
import { kafkaDeadLetters } from '../../../../pipelines/engine/sinks/dead-letters.ts'
import type { BadRecord } from '../../../../pipelines/engine/sinks/queue.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { matchIndex } from '../../../../schemas/matches/topics.ts'

function badRecord(text: string, key = ''): BadRecord {
  const buffer = Buffer.from(key + text)
  const nowhere = Int32Array.of(-1)
  const chunk = {
    topic: 'notes',
    partition: 0,
    buffer,
    count: 1,
    offsets: Float64Array.of(7),
    timestamps: Float64Array.of(5),
    keyStart: key === '' ? nowhere : Int32Array.of(0),
    keyEnd: key === '' ? nowhere : Int32Array.of(key.length),
    valueStart: Int32Array.of(key.length),
    valueEnd: Int32Array.of(buffer.length),
    headerStart: nowhere,
  }
  return { chunk, row: 0, code: 'undecodable_value', message: 'it is not a note' }
}

/**
 * Wraps a transport so that the first producer is fenced at its commit. Later producers work.
 * @param failAbort whether the brokers are also unreachable when the fenced producer aborts
 */
function fencing(inner: Transport, failAbort: boolean): Transport {
  let made = 0
  function producer(options: ProducerOptions): WorkerProducer {
    const healthy = inner.producer(options)
    if (made++ > 0) return healthy
    return {
      ...healthy,
      commit: async () => {
        throw new FencedError('the broker answered OUT_OF_ORDER_SEQUENCE_NUMBER')
      },
      abort: async () => {
        if (failAbort) throw new TransportError('DISCONNECTED', 'none of the brokers can be reached', { fatal: false })
        await healthy.abort()
      },
    }
  }
  return { ...inner, producer }
}

test.each([false, true])('a fenced producer is replaced (abort fails: %s)', async (failAbort) => {
  const broker = memoryBroker()
  const deadLetters = kafkaDeadLetters(fencing(memoryTransport(broker), failAbort), 'copier', [], manualRuntime({ startAt: 0 }))
  await expect(deadLetters.send([badRecord('first')])).rejects.toThrow()
  await deadLetters.send([badRecord('first')])
  expect(broker.records('copier-dead-letters').map(({ value }) => value?.toString())).toEqual(['first'])
  await deadLetters.close()
})

test('a dead letter from a topic that erases records has no value, but a header with the size of the omitted value', async () => {
  const broker = memoryBroker()
  const sources = [{ name: 'notes', erases: true }]
  const deadLetters = kafkaDeadLetters(memoryTransport(broker), 'copier', sources, manualRuntime({ startAt: 0 }))
  await deadLetters.send([badRecord('secret')])
  const [{ value, headers }] = broker.records('copier-dead-letters')
  expect(String(value)).toBe('')
  expect(headers?.map(({ key, value }) => [key, String(value)])).toContainEqual(['dead-letter.cut', 'value=6'])
  await deadLetters.close()
})

test('a dead letter from the candidate index has neither key nor value, because the key contains the location of a user', async () => {
  const broker = memoryBroker()
  const deadLetters = kafkaDeadLetters(memoryTransport(broker), 'copier', [matchIndex], manualRuntime({ startAt: 0 }))
  const { chunk, ...bad } = badRecord('value', '9q8yy:member')
  await deadLetters.send([{ ...bad, chunk: { ...chunk, topic: matchIndex.name } }])
  const [{ key, value, headers }] = broker.records('copier-dead-letters')
  expect([String(key), String(value)]).toEqual(['', ''])
  expect(headers?.map((header) => [header.key, String(header.value)])).toContainEqual(['dead-letter.cut', 'key=12 value=5'])
  await deadLetters.close()
})
