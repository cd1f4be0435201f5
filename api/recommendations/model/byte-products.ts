import { writeNumbers } from './eight-bits.ts'

/** Inner products of a query with many 8-bit vectors: docs/adr/0092-products-are-computed-by-webassembly.md */
export interface ByteProducts {
  /** The vectors one after another, as many as there is room for. The caller writes them. */
  readonly numbers: Int8Array
  /** Sets the query. Returns its step: the value that the number 1 stands for in the products. */
  ask(query: Float32Array): number
  /**
   * Returns the products of the query with `count` vectors, starting with the vector at `place`. The next call
   * overwrites them.
   */
  of(place: number, count: number): Int32Array
}

/**
 * The assembled `byte-products.wat`. It uses the SIMD instructions of WebAssembly. A test compares it with its source.
 */
export const ASSEMBLED = [
  'AGFzbQEAAAABCQFgBX9/f39/AAISAQZtZW1vcnkGbWVtb3J5AgABAwIBAAcMAQhwcm9kdWN0cwAACvIBAe8BAgN/AnsgBCACQQJ0',
  'aiEFAkADQCAEIAVPDQEgASADaiEGIAAhB/0MAAAAAAAAAAAAAAAAAAAAACEI/QwAAAAAAAAAAAAAAAAAAAAAIQkDQCAIIAH9AQMA',
  'IAf9AAQA/boB/a4BIQggCSAB/QEDCCAH/QAEEP26Af2uASEJIAggAf0BAxAgB/0ABCD9ugH9rgEhCCAJIAH9AQMYIAf9AAQw/boB',
  '/a4BIQkgB0HAAGohByABQSBqIQEgASAGSQ0ACyAIIAn9rgEhCCAEIAj9GwAgCP0bAWogCP0bAiAI/RsDamo2AgAgBEEEaiEEDAAL',
  'Cws=',
].join('')

/** The largest 16-bit number. The query has 16-bit numbers, so that only the vectors are rounded noticeably. */
const MOST_NUMBER = 32_767
/** Number of values that one round of the inner loop processes. */
const VALUES_PER_ROUND = 32
/** Number of dimensions up to which a sum of products fits into 32 bits. */
const MOST_DIMENSIONS = 512
const BYTES_PER_PAGE = 65_536

const compiled = new WebAssembly.Module(Buffer.from(ASSEMBLED, 'base64'))

interface Assembled {
  products(query: number, row: number, count: number, dimensions: number, out: number): void
}

/**
 * @param most maximum number of vectors
 * @param dimensions a multiple of 32, at most 512
 */
export function byteProducts(most: number, dimensions: number): ByteProducts {
  if (dimensions % VALUES_PER_ROUND !== 0 || dimensions > MOST_DIMENSIONS) {
    throw new RangeError(`vectors of ${dimensions} dimensions are not supported`)
  }
  const outAt = dimensions * Int16Array.BYTES_PER_ELEMENT
  const numbersAt = outAt + most * Int32Array.BYTES_PER_ELEMENT
  const pages = Math.ceil((numbersAt + most * dimensions) / BYTES_PER_PAGE)
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
  const { products } = new WebAssembly.Instance(compiled, { memory: { memory } }).exports as unknown as Assembled
  const query = new Int16Array(memory.buffer, 0, dimensions)
  const out = new Int32Array(memory.buffer, outAt, most)
  return {
    numbers: new Int8Array(memory.buffer, numbersAt, most * dimensions),
    ask: (vector) => writeNumbers(vector, query, 0, MOST_NUMBER),
    of(place, count) {
      products(0, numbersAt + place * dimensions, count, dimensions, outAt)
      return out.subarray(0, count)
    },
  }
}
