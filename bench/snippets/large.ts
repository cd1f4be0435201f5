import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from './client.ts'

/**
 * Options for the measurement of contents of the maximum size. Many such contents are created and read concurrently,
 * and the memory growth of the API process is measured.
 */
export interface LargeOptions {
  readonly client: Client
  /**
   * Creates a snippet with this content.
   * @returns the id of the snippet
   */
  readonly create: (content: readonly Uint8Array[]) => Promise<string>
  /** Returns the resident memory of the API process. */
  readonly residentBytes: () => Promise<number>
  /** Returns headers with a new client address for each request. */
  readonly from: () => Record<string, string>
  readonly print: (line: string) => void
}

const LARGE_BYTES = 10_485_760
const AT_ONCE = [1, 8, 16, 32, 64]
const WATCH_EVERY_MS = 50
const MIB = 1_048_576
/** Number of random bytes per character of a text. Base64 encodes three bytes as four characters. */
const RANDOM_SHARE = 3 / 4
const HEAD_BYTES = 16

interface Watched {
  readonly before: number
  readonly peak: number
  readonly answers: PromiseSettledResult<string>[]
}

export async function largeAtOnce({ client, create, residentBytes, from, print }: LargeOptions): Promise<void> {
  // The text is random Base64, which compression shortens by at most a quarter.
  const tail = Buffer.from(randomBytes(LARGE_BYTES * RANDOM_SHARE).toString('base64')).subarray(HEAD_BYTES)
  let made = 0
  const createOne = () => create([Buffer.from(String(made++).padStart(HEAD_BYTES)), tail])
  const readOne = async (id: string) => String((await client.get(`/api/v1/pastes/${id}`, from())).bytes)

  async function watched(work: () => Promise<string>[]): Promise<Watched> {
    const before = await residentBytes()
    let peak = before
    let isWatching = true
    const watch = (async () => {
      for (; isWatching; await delay(WATCH_EVERY_MS)) peak = Math.max(peak, await residentBytes())
    })()
    const answers = await Promise.allSettled(work())
    isWatching = false
    await watch
    return { before, peak, answers }
  }

  await createOne()
  const start = await residentBytes()
  const grown = ({ before, peak, answers }: Watched, count: number) => {
    const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [(answer.reason as Error).message.slice(0, 3)] : []))
    const refused = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, all]) => `${all.length} × ${reason}`).join(', ')
    return `${(before / MIB).toFixed(0)} → ${(peak / MIB).toFixed(0)} | ${((peak - start) / count / MIB).toFixed(1)} | ${refused || 0}`
  }
  print(
    `\nContents of 10 MiB; resident: MiB before → peak; each: peak minus the ${(start / MIB).toFixed(0)} MiB at the start, in MiB per request`,
  )
  print('| concurrent | created: resident | each | rejected | read: resident | each | rejected |\n|---:|---:|---:|---:|---:|---:|---:|')
  for (const count of AT_ONCE) {
    const created = await watched(() => Array.from({ length: count }, createOne))
    const ids = created.answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const read = await watched(() => Array.from({ length: count }, (_, index) => readOne(ids[index % ids.length])))
    print(`| ${count} | ${grown(created, count)} | ${grown(read, count)} |`)
  }
}
