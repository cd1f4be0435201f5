import { setTimeout as delay } from 'node:timers/promises'
import { partitionFor } from '../../kafka/partitioner.ts'
import type { Transport, WorkerProducer } from '../../kafka/transport.ts'
import { integer, pick, type Random, seededRandom } from '../../tools/random/random.ts'
import { isPassing, untilDone } from './passing.ts'
import { PARTITIONS, type Payment, type Receipt, type ShopTopics } from './shop.ts'

export interface InputOptions {
  readonly seed: number
  readonly payments: number
  readonly durationMs: number
  /**
   * If true, every payment gets a receipt, except some in the last batches. The state then does not grow, because no
   * payments wait for a receipt forever.
   */
  readonly everyReceipt?: boolean
  /** Called with the ids of a transaction's payments once they are certainly in the log. */
  readonly onCommitted?: (ids: readonly string[]) => void
  /** Interval between batches, ms. Default 40. */
  readonly batchEveryMs?: number
  /** The notes of payments are shorter than this, with random lengths. By default, payments have no notes. */
  readonly longestNoteBytes?: number
  /** Number of accounts. Default 150. */
  readonly accounts?: number
}

const BATCH_EVERY_MS = 40
const ACCOUNTS = 150
/**
 * Size of the random text from which notes are cut. The text is random, so that compression does not shrink notes much.
 */
const NOTES_BYTES = 64 * 1_024
const MERCHANTS = 25
const REGIONS = 6
const MAX_AMOUNT = 1_000
/**
 * A receipt is sent fewer than this many batches after its payment, unless the batch of the receipt is not committed.
 * The shop may read a receipt before its payment, because they are in different topics.
 */
const RECEIPT_LAG_BATCHES = 12
const SHARE_WITHOUT_RECEIPT = 0.05
/** Share of transactions that the producer aborts. The shop must never process their records. */
const SHARE_ABORTED = 0.15
const HOUR_MS = 3_600_000

/**
 * Writes payments and receipts in transactions for a while, and aborts some of the transactions. Transactions that the
 * broker has aborted are not sent again, because the expected output is computed from the log. Only the last
 * transaction, which contains an end marker for every partition, is retried until it is committed.
 */
export async function produceInput(transport: Transport, topics: ShopTopics, options: InputOptions): Promise<void> {
  const { batchEveryMs = BATCH_EVERY_MS, accounts = ACCOUNTS, longestNoteBytes } = options
  const random = seededRandom(options.seed)
  const notes = longestNoteBytes === undefined ? undefined : noteSource(seededRandom(options.seed), longestNoteBytes)
  const producer = transport.producer({ transactionalId: `${topics.payments.name}-input` })
  const batches = Math.max(1, Math.floor(options.durationMs / batchEveryMs))
  const receipts = new Map<number, { account: string; id: string }[]>()
  const startAt = Date.now()

  function send(topic: string, partition: number, timestamp: number, account: string, value: Payment | Receipt): void {
    const key = Buffer.from(account)
    const bytes = Buffer.from(JSON.stringify(value))
    producer.appender(topic, partition).append(timestamp, key, 0, key.length, bytes, 0, bytes.length)
  }

  function due(batch: number, more: readonly { account: string; id: string }[]): void {
    receipts.set(batch, [...(receipts.get(batch) ?? []), ...more])
  }

  /**
   * Adjusts the planned receipts after a batch that was not committed. Receipts for the batch's payments are dropped.
   * Receipts that the batch contained move to the next batch.
   */
  function mend(batch: number, ids: readonly string[]): void {
    const lost = new Set(ids)
    for (const [later, list] of receipts)
      receipts.set(
        later,
        list.filter(({ id }) => !lost.has(id)),
      )
    due(batch + 1, receipts.get(batch) ?? [])
    receipts.delete(batch)
  }

  /**
   * Appends the records of a batch.
   * @returns the ids of its payments
   */
  function fill(batch: number, at: number): string[] {
    const ids: string[] = []
    const count = Math.round((options.payments * (batch + 1)) / batches) - Math.round((options.payments * batch) / batches)
    for (let i = 0; i < count; i++) {
      const account = `account-${integer(random, accounts)}`
      const id = `${batch}.${i}`
      ids.push(id)
      const payment = {
        id,
        merchant: `m${integer(random, MERCHANTS)}`,
        region: `r${integer(random, REGIONS)}`,
        amount: 1 + integer(random, MAX_AMOUNT),
        at,
        ...(notes !== undefined && { note: notes() }),
      }
      send(topics.payments.name, partitionFor(Buffer.from(account), PARTITIONS), at, account, payment)
      if (random() < SHARE_WITHOUT_RECEIPT && !options.everyReceipt) continue
      due(batch + pick(random, [0, 0, integer(random, RECEIPT_LAG_BATCHES)]), [{ account, id }])
    }
    for (const { account, id } of receipts.get(batch) ?? [])
      send(topics.receipts.name, partitionFor(Buffer.from(account), PARTITIONS), at, account, { id })
    return ids
  }

  await untilDone(() => producer.init())
  for (let batch = 0; batch < batches; batch++) {
    await delay(Math.max(0, startAt + batch * batchEveryMs - Date.now()))
    receipts.delete(batch - 1)
    const ids = fill(batch, startAt + batch * batchEveryMs)
    if (random() < SHARE_ABORTED) await giveUp(producer)
    else if (await tryCommit(producer)) {
      options.onCommitted?.(ids)
      continue
    }
    if (options.everyReceipt) mend(batch, ids)
  }
  const endAt = Date.now() + HOUR_MS
  do {
    for (let partition = 0; partition < PARTITIONS; partition++)
      send(topics.payments.name, partition, endAt, `end-${partition}`, {
        id: 'end',
        merchant: '',
        region: '',
        amount: 0,
        at: endAt,
        end: true,
      })
  } while (!(await tryCommit(producer)))
  await producer.close()
}

function noteSource(random: Random, longestBytes: number): () => string {
  const bytes = Uint8Array.from({ length: (NOTES_BYTES * 3) / 4 }, () => integer(random, 256))
  const characters = Buffer.from(bytes).toString('base64')
  return function note() {
    const length = integer(random, longestBytes)
    const from = integer(random, NOTES_BYTES - length)
    return characters.slice(from, from + length)
  }
}

/**
 * Commits the transaction.
 * @returns false if the commit failed with a temporary error and the transaction was aborted
 */
async function tryCommit(producer: WorkerProducer): Promise<boolean> {
  try {
    await producer.commit(new Map(), undefined)
    return true
  } catch (error) {
    if (!isPassing(error)) throw error
    await giveUp(producer)
    return false
  }
}

async function giveUp(producer: WorkerProducer): Promise<void> {
  try {
    await producer.flushFull()
    await producer.abort()
  } catch (error) {
    if (!isPassing(error)) throw error
    await untilDone(async () => {
      await producer.abort()
      await producer.init()
    })
  }
}
