import { MODELS, type ModelScores } from '../../../schemas/fraud/decision/policy.ts'
import { INPUT_FIELDS } from '../../../schemas/fraud/models/inputs.ts'
import type { FraudRiskFactor } from '../../../schemas/fraud/types.ts'

/** The kinds of requests to the model process. */
export const KIND = { ping: 0, load: 1, score: 2, unload: 3 } as const

/** Request to load a model. Later requests identify the model by `number`. */
export interface LoadRequest {
  readonly number: number
  readonly manifestPath: string
  readonly sha256: string
  /**
   * Maximum time, in ms, for scoring as many rows as a challenger gets per batch. A model that always takes longer is
   * refused. Default: no limit.
   */
  readonly slowestMs?: number
}

/** Answer to a request to load a model. If the model must not be used, `refused` is the reason. */
export interface LoadAnswer {
  readonly refused?: string
}

/** Request to unload models. Scores that were requested earlier are still computed. */
export interface UnloadRequest {
  readonly numbers: readonly number[]
}

/** The numbers of three loaded models, in the order of `MODELS`. */
export type ModelNumbers = readonly number[]

export interface ScoreRequest {
  readonly champion: ModelNumbers
  /** Undefined if there is no challenger. */
  readonly challenger: ModelNumbers | undefined
  /** For each row, whether the challenger scores it as well. */
  readonly isChallengers: readonly boolean[]
  /** The rows, one after another. Each row has all inputs. */
  readonly rows: Float32Array
}

export interface RowScores {
  readonly champion: ModelScores
  readonly challenger: ModelScores | undefined
  readonly factors: readonly FraudRiskFactor[]
}

const NO_MODEL = 0xffff
const NUMBER_BYTES = 2
const FLOAT_BYTES = 4
const HEAD_BYTES = NUMBER_BYTES * (1 + 2 * MODELS.length)
const FACTOR_BYTES = NUMBER_BYTES + FLOAT_BYTES
const BEFORE_FACTORS = 2 * MODELS.length * FLOAT_BYTES

/**
 * Encodes the number of rows, the numbers of the models, one byte per row that says whether the challenger scores it,
 * and the rows as little-endian floats.
 */
export function encodeScoreRequest({ champion, challenger, isChallengers, rows }: ScoreRequest): Buffer {
  const count = isChallengers.length
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + count + rows.byteLength)
  let at = bytes.writeUInt16BE(count, 0)
  for (const number of [...champion, ...(challenger ?? MODELS.map(() => NO_MODEL))]) at = bytes.writeUInt16BE(number, at)
  for (const isChallengers_ of isChallengers) at = bytes.writeUInt8(Number(isChallengers_), at)
  Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength).copy(bytes, at)
  return bytes
}

export function decodeScoreRequest(bytes: Buffer): ScoreRequest {
  const count = bytes.readUInt16BE(0)
  const numbers = Array.from({ length: 2 * MODELS.length }, (_, index) => bytes.readUInt16BE(NUMBER_BYTES * (1 + index)))
  const isChallengers = Array.from(bytes.subarray(HEAD_BYTES, HEAD_BYTES + count), (flag) => flag === 1)
  const rows = new Float32Array(count * INPUT_FIELDS.length)
  bytes.copy(Buffer.from(rows.buffer), 0, HEAD_BYTES + count)
  const challenger = numbers.slice(MODELS.length)
  return {
    champion: numbers.slice(0, MODELS.length),
    challenger: challenger[0] === NO_MODEL ? undefined : challenger,
    isChallengers,
    rows,
  }
}

/**
 * Encodes, for each row, the champion's three scores, the challenger's three scores (NaN if there are none), the number
 * of factors, and the slot and contribution of each factor.
 */
export function encodeScores(all: readonly RowScores[]): Buffer {
  const sizes = all.map(({ factors }) => BEFORE_FACTORS + 1 + factors.length * FACTOR_BYTES)
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + size, 0))
  let at = 0
  for (const { champion, challenger, factors } of all) {
    for (const model of MODELS) at = bytes.writeFloatBE(champion[model], at)
    for (const model of MODELS) at = bytes.writeFloatBE(challenger?.[model] ?? Number.NaN, at)
    at = bytes.writeUInt8(factors.length, at)
    for (const { factor, contribution } of factors) {
      at = bytes.writeUInt16BE(slots.get(factor)!, at)
      at = bytes.writeFloatBE(contribution, at)
    }
  }
  return bytes
}

export function decodeScores(bytes: Buffer, count: number): RowScores[] {
  let at = 0
  function float(): number {
    at += FLOAT_BYTES
    return bytes.readFloatBE(at - FLOAT_BYTES)
  }
  const scores = (): ModelScores => ({ account_takeover: float(), payment_fraud: float(), money_laundering: float() })
  return Array.from({ length: count }, () => {
    const champion = scores()
    const challenger = scores()
    const factors = Array.from({ length: bytes.readUInt8(at++) }, () => {
      at += NUMBER_BYTES
      return { factor: INPUT_FIELDS[bytes.readUInt16BE(at - NUMBER_BYTES)].name, contribution: float() }
    })
    return { champion, challenger: Number.isNaN(challenger[MODELS[0]]) ? undefined : challenger, factors }
  })
}

const slots = new Map(INPUT_FIELDS.map(({ name, slot }) => [name, slot]))
