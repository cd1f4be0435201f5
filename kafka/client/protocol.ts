import { endLateValidators } from './late-validators.ts'

/**
 * Exports the parts of the protocol package that the transport uses: sockets and message formats. No other module of
 * the transport imports the package. This module loads the package without compiling the validators of the package's
 * own clients. Compiling them would take 150 ms of CPU time at every start.
 */
export {
  type API,
  AuthenticationError,
  addOffsetsToTxnV4,
  addPartitionsToTxnV3,
  apiVersionsV3,
  ConfigResourceTypes,
  Connection,
  type ConnectionOptions,
  ConnectionStatuses,
  compressionsAlgorithms,
  consumerGroupDescribeV0,
  consumerGroupHeartbeatV1,
  crc32c,
  createAPI,
  createTopicsV7,
  describeConfigsV4,
  describeTransactionsV0,
  endTxnV4,
  findCoordinatorV4,
  findErrorBy,
  IncrementalAlterConfigOperationTypes,
  incrementalAlterConfigsV1,
  initProducerIdV4,
  listOffsetsV9,
  listTransactionsV1,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  offsetForLeaderEpochV4,
  produceV11,
  protocolErrorsCodesById,
  Reader,
  ResponseError,
  txnOffsetCommitV4,
  Writer,
} from '@platformatic/kafka'

endLateValidators()
