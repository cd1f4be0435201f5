import { hash } from 'node:crypto'
import { scoredBytes, scoredFromBytes } from '../../../schemas/fraud/scored-bytes.ts'
import type { FraudRequest, TxnScored } from '../../../schemas/fraud/types.ts'
import type { ViewScript } from '../view.ts'

/**
 * Answers to scoring requests. Only the API writes and reads them.
 *
 * | key | value |
 * |---|---|
 * | `fraud-answer:<transaction_id>` | a claim while the transaction is being scored, then the answer |
 *
 * A claim consists of a byte 0 and 15 bytes of a hash of the request. An answer consists of a byte 1 and the scored
 * transaction (see schemas/fraud/scored-bytes.ts).
 */
const CLAIM = 0
const ANSWER = 1
const KIND_BYTES = 1
const CLAIM_HASH_BYTES = 15
const CLAIM_BYTES = KIND_BYTES + CLAIM_HASH_BYTES

export function answerKey(transactionId: string): string {
  return `fraud-answer:${transactionId}`
}

/**
 * Stores ARGV 1 for ARGV 2 ms unless the key already has a value. Returns the existing value, or nil. KEYS: 1 the
 * answer.
 */
export const CLAIM_ANSWER: ViewScript = {
  name: 'claim-answer',
  returnsBytes: true,
  source: `return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX', 'GET')`,
}

/**
 * Stores ARGV 1 for ARGV 2 ms, unless the key already has an answer that differs from ARGV 3. In that case, returns the
 * existing answer; otherwise returns nil. KEYS: 1 the answer.
 */
export const KEEP_ANSWER: ViewScript = {
  name: 'keep-answer',
  returnsBytes: true,
  source: `
local held = redis.call('GET', KEYS[1])
if held and string.byte(held) == ${ANSWER} and held ~= ARGV[3] then return held end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
`,
}

export const READ_ANSWER: ViewScript = { name: 'read-answer', returnsBytes: true, source: `return redis.call('GET', KEYS[1])` }

export function claimBytes(request: FraudRequest): Buffer {
  return Buffer.concat([Buffer.of(CLAIM), requestHash(request)])
}

export function answerBytes(scored: TxnScored): Buffer {
  return Buffer.concat([Buffer.of(ANSWER), scoredBytes(scored)])
}

/** @returns undefined for anything other than an answer in the format of this version */
export function answerFromBytes(bytes: Buffer): TxnScored | undefined {
  return bytes[0] === ANSWER ? scoredFromBytes(bytes.subarray(KIND_BYTES)) : undefined
}

/** Returns whether the bytes are a claim for this request. */
export function isClaimOf(bytes: Buffer, request: FraudRequest): boolean {
  return bytes.length === CLAIM_BYTES && bytes.equals(claimBytes(request))
}

export function isClaim(bytes: Buffer): boolean {
  return bytes[0] === CLAIM && bytes.length === CLAIM_BYTES
}

/**
 * Returns whether two requests are equal. Compares hashes of their JSON, so both must have their fields in the same
 * order.
 */
export function isSameRequest(one: FraudRequest, other: FraudRequest): boolean {
  return requestHash(one).equals(requestHash(other))
}

function requestHash(request: FraudRequest): Buffer {
  return hash('sha256', JSON.stringify(request), 'buffer').subarray(0, CLAIM_HASH_BYTES)
}
