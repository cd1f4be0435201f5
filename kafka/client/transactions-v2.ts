import { createAPI, endTxnV4, type Reader, ResponseError, txnOffsetCommitV4 } from './protocol.ts'

/**
 * The protocol package lacks version 5 of EndTxn and TxnOffsetCommit, so this module defines it. These requests belong
 * to transaction version 2 (KIP-890). In that version, a broker that receives records reports the partitions of these
 * records to the transaction coordinator, and a broker that receives offsets reports the group. The coordinator raises
 * the epoch whenever a transaction ends, so a record that arrives late cannot enter the next transaction.
 */

const END_TXN_KEY = 26
const TXN_OFFSET_COMMIT_KEY = 28
/** The first version of EndTxn and TxnOffsetCommit that uses transaction version 2. */
const VERSION = 5

export interface EndTxnResponse {
  readonly throttleTimeMs: number
  readonly errorCode: number
  /** The identity of the next transaction. */
  readonly producerId: bigint
  readonly producerEpoch: number
}

/** EndTxn as in version 4, except that the response contains the identity for the next transaction. */
export const endTxnV5 = createAPI<Parameters<typeof endTxnV4.createRequest>, EndTxnResponse>(
  END_TXN_KEY,
  VERSION,
  endTxnV4.createRequest,
  parseEndTxn,
)

/** TxnOffsetCommit in the same format as version 4. */
export const txnOffsetCommitV5 = createAPI<Parameters<typeof txnOffsetCommitV4.createRequest>, txnOffsetCommitV4.TxnOffsetCommitResponse>(
  TXN_OFFSET_COMMIT_KEY,
  VERSION,
  txnOffsetCommitV4.createRequest,
  txnOffsetCommitV4.parseResponse,
)

function parseEndTxn(_correlationId: number, apiKey: number, apiVersion: number, reader: Reader): EndTxnResponse {
  const response = {
    throttleTimeMs: reader.readInt32(),
    errorCode: reader.readInt16(),
    producerId: reader.readInt64(),
    producerEpoch: reader.readInt16(),
  }
  reader.readTaggedFields()
  if (response.errorCode !== 0) throw new ResponseError(apiKey, apiVersion, { '/': [response.errorCode, null] }, response)
  return response
}
