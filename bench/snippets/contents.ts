import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Median size of contents in bytes, as in typical pastes. Sizes have a log-normal distribution, and the largest
 * contents reach the limit.
 */
const MEDIAN_BYTES = 1_024
/** Standard deviation of the logarithm of sizes. With this value, 1 % of contents exceed 100 KB. */
const SIGMA = 2
const MAX_BYTES = 10_485_760
/** Share of contents of the maximum size. */
const LARGEST_SHARE = 0.001
const SOURCE_FOLDERS = ['api/kit', 'pipelines/engine', 'kafka/client']

/**
 * Returns a function that generates distinct texts. They consist of source code, so they compress like typical pastes.
 */
export function contents(random: () => number): () => Buffer {
  const root = join(import.meta.dirname, '..', '..')
  const source = SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(root, folder, name))),
  )
  const text = Buffer.from(
    Buffer.concat(source)
      .toString()
      .replaceAll(/[^\n\t -~]/g, '?'),
  )
  let made = 0

  return function nextContent() {
    const bytes = sizeOf(random)
    const head = `// snippet ${made++} ${random()}\n`
    const from = Math.floor(random() * (text.length - 1))
    const parts = [Buffer.from(head), text.subarray(from)]
    for (let length = head.length + text.length - from; length < bytes; length += text.length) parts.push(text)
    return Buffer.concat(parts).subarray(0, Math.max(bytes, head.length))
  }
}

export function sizeOf(random: () => number): number {
  if (random() < LARGEST_SHARE) return MAX_BYTES
  // The Box-Muller transform converts two uniformly distributed numbers into a normally distributed one.
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.min(MAX_BYTES, Math.max(1, Math.round(MEDIAN_BYTES * Math.exp(SIGMA * normal))))
}
