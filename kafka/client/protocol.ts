import { endLateValidators } from './late-validators.ts'

/**
 * What the transport takes of the protocol package: sockets and message formats. Nothing else of this repository's hot paths imports the package: here it is
 * loaded without compiling the validators of its own clients, which were half of the CPU time of a worker's start.
 */
export {
  type API,
  AuthenticationError,
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  apiVersionsV3,
  Connection,
  ConnectionStatuses,
  compressionsAlgorithms,
  consumerGroupDescribeV0,
  consumerGroupHeartbeatV1,
  crc32c,
  createTopicsV7,
  describeTransactionsV0,
  endTxnV4,
  findCoordinatorV4,
  findErrorBy,
  initProducerIdV4,
  listOffsetsV9,
  listTransactionsV1,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  produceV11,
  protocolErrorsCodesById,
  type Reader,
  ResponseError,
  txnOffsetCommitV4,
  Writer,
} from '@platformatic/kafka'

endLateValidators()
