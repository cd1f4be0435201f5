import type { CancelTimer } from '../../runtime/runtime.ts'
import { type PublishAppender, type Publisher, type Receipt, TransportError } from '../transport.ts'
import type { MemoryBroker } from './broker.ts'
import type { NewRecord } from './log.ts'

interface Pending {
  readonly topic: string
  readonly partition: number
  readonly record: NewRecord
  readonly receipt: Receipt
  cancelTimer: CancelTimer | undefined
}

/**
 * Creates a publisher of the in-memory broker. Records reach the log in the order of their appends, but not before the
 * synchronous code that appended them has ended. If `publishGate` is set, they wait for it first.
 */
export function memoryPublisher(broker: MemoryBroker): Publisher {
  const pending = new Set<Pending>()
  let isSending = false
  let isClosed = false

  async function send(): Promise<void> {
    if (isSending) return
    isSending = true
    await Promise.resolve()
    while (pending.size > 0) {
      const taken = [...pending]
      let failure: TransportError | undefined
      await broker.publishGate?.catch((error: Error) => {
        failure = error instanceof TransportError ? error : new TransportError('REFUSED', error.message, { fatal: true, cause: error })
      })
      for (const one of taken) if (pending.has(one)) settle(one, failure ?? appended(one))
    }
    isSending = false
  }

  /**
   * Appends a record.
   * @returns the reason if the broker refuses the record
   */
  function appended({ topic, partition, record }: Pending): TransportError | undefined {
    try {
      broker.append(topic, partition, record)
      return undefined
    } catch (error) {
      if (error instanceof TransportError) return error
      throw error
    }
  }

  function settle(one: Pending, error: TransportError | undefined): void {
    one.cancelTimer?.()
    pending.delete(one)
    one.receipt.settled(1, error)
  }

  function failed(code: string, message: string): TransportError {
    return new TransportError(code, message, { fatal: false })
  }

  function appender(topic: string, partition: number): PublishAppender {
    return {
      topic,
      partition,
      append(receipt, timestamp, key, keyStart, keyEnd, value, valueStart, valueEnd, headers = []) {
        if (isClosed) throw failed('CLOSED', 'the publisher was closed')
        const one: Pending = {
          topic,
          partition,
          record: {
            timestamp,
            key: key === null ? null : Buffer.from(key.subarray(keyStart, keyEnd)),
            value: value === null ? null : Buffer.from(value.subarray(valueStart, valueEnd)),
            headers,
          },
          receipt,
          cancelTimer: undefined,
        }
        if (receipt.timeoutMs !== undefined)
          one.cancelTimer = broker.runtime.setTimer(receipt.timeoutMs, () => settle(one, failed('TIMED_OUT', 'no acknowledgement in time')))
        pending.add(one)
        void send()
      },
    }
  }

  return {
    appender,
    get pendingRecords() {
      return pending.size
    },
    get pendingBytes() {
      let bytes = 0
      for (const { record } of pending) bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0)
      return bytes
    },
    async close() {
      isClosed = true
      // All records arrive within one turn of the event loop, unless the gate holds them back.
      await broker.runtime.nextTurn()
      for (const one of [...pending]) settle(one, failed('CLOSED', 'the publisher was closed before the record was acknowledged'))
    },
  }
}
