import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { localConfig } from '../../../../deploy/local/config.ts'
import type { CatalogDocument } from '../../../../schemas/catalog/types.ts'
import { pythonEnvironment } from '../../../../scripts/python-environment.ts'
import { productSourceOf } from '../../../../state/indexes/catalog/products.ts'
import { PeerMissingError } from '../../../peer-missing.ts'

const PROGRAM = fileURLToPath(new URL('./tantivy_peer.py', import.meta.url))
const REQUIREMENTS = fileURLToPath(new URL('./requirements.txt', import.meta.url))

/** A Tantivy process, which answers one search at a time. */
export interface Tantivy {
  readonly pid: number
  /** Returns the number of products that contain all the words. */
  search(words: readonly string[]): Promise<number>
  stop(): void
}

/**
 * Starts the process and sends it the products.
 * @throws PeerMissingError if Tantivy cannot be installed
 */
export async function startTantivy(count: number, make: (number: number) => CatalogDocument): Promise<Tantivy> {
  const environment = pythonEnvironment({ name: 'tantivy', requirements: REQUIREMENTS, tools: join(localConfig().home, 'tools') })
  const bin = await environment.catch((error: Error) => {
    throw new PeerMissingError(error.message, { cause: error })
  })
  const child = spawn(join(bin, 'python'), [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, PromiseWithResolvers<number>>()
  const ready = Promise.withResolvers<void>()
  const failed = (error: Error) => {
    ready.reject(error)
    for (const each of waiting.values()) each.reject(error)
  }
  child.on('error', failed)
  child.on('exit', () => failed(new Error('Tantivy has ended')))
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = JSON.parse(line) as readonly [number, number] | null
    if (answer === null) return ready.resolve()
    waiting.get(answer[0])?.resolve(answer[1])
    waiting.delete(answer[0])
  })

  async function send(value: object | null): Promise<void> {
    if (!child.stdin.write(`${JSON.stringify(value)}\n`)) await once(child.stdin, 'drain')
  }
  for (let number = 0; number < count; number++) await send(documentOf(make(number)))
  await send(null)
  await ready.promise

  let last = 0
  return {
    pid: child.pid!,
    search(words) {
      const answered = Promise.withResolvers<number>()
      waiting.set(++last, answered)
      send([last, words]).catch(answered.reject)
      return answered.promise
    },
    stop() {
      child.removeAllListeners('exit')
      child.kill()
    },
  }
}

/** Returns the fields of a product that Tantivy indexes. */
function documentOf(product: CatalogDocument): object {
  const source = productSourceOf(product)
  if (!source.is_public) throw new Error(`product ${product.product_id} is not public`)
  const { product_id, title, words, brand, category, price_band, rating_band, attributes } = source
  return {
    product_id,
    title,
    words,
    brand: [brand],
    category: [category],
    price_band: [price_band],
    rating_band: [rating_band],
    attributes,
  }
}
