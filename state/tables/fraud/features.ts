import type { FraudFeatures, TxnScored } from '../../../schemas/fraud/types.ts'
import { loadSchema } from '../../../schemas/load.ts'
import type { Table } from '../table.ts'
import { isoDay } from '../time.ts'
import { BY_TRANSACTION, EARLIEST, SCORED_COLUMNS, SCORED_LINGER_MS, scoredColumns } from './identity.ts'
import { FEATURE_DAYS } from './retention.ts'

interface Field {
  readonly name: string
  readonly type: unknown
}

const COLUMN_TYPES: Readonly<Record<string, string>> = {
  double: 'Nullable(Float64)',
  int: 'Nullable(Int32)',
  long: 'Nullable(Int64)',
  boolean: 'Nullable(Bool)',
  string: 'LowCardinality(Nullable(String))',
}

/** The features that the schema of `txn.scored` lists. Each has a separate column. */
const FEATURES = featureFields()
export const FEATURE_NAMES: readonly (keyof FraudFeatures)[] = FEATURES.map(({ name }) => name as keyof FraudFeatures)

/**
 * All features of scored transactions and the basis of each decision, kept for 30 days. Back-tests read features from
 * this table, and never compute them again. Fed by `txn.scored`. If a transaction was scored several times, the table
 * keeps the first row. Read it with FINAL.
 */
export const fraudFeaturesTable: Table<string, TxnScored> = {
  name: 'fraud_features',
  columns: [
    ...SCORED_COLUMNS,
    'payer_user_id String',
    'decision LowCardinality(String)',
    'risk_score UInt16',
    'amount Float64',
    ...FEATURES.map(columnOf),
    // The event as JSON, without its features.
    'scored String CODEC(ZSTD(3))',
  ],
  orderBy: BY_TRANSACTION,
  version: EARLIEST,
  partitionBy: 'toDate(scored_at)',
  ttl: `toDateTime(scored_at) + INTERVAL ${FEATURE_DAYS} DAY`,
  // A table that is older than a feature lacks the feature's column. Features are only ever added, so their number
  // identifies the migration.
  migrations: [
    {
      id: `features-${FEATURES.length}`,
      statements: ({ onCluster }) => [
        `ALTER TABLE fraud_features${onCluster} ${FEATURES.map((field) => `ADD COLUMN IF NOT EXISTS ${columnOf(field)}`).join(', ')}`,
      ],
    },
  ],
  rowsOf(_user, event) {
    if (event === null) return []
    const { features, ...scored } = event
    const { payer, amount } = event.request
    return [
      {
        ...features,
        ...scoredColumns(event),
        payer_user_id: payer.user_id,
        decision: event.decision,
        risk_score: event.risk_score,
        amount,
        scored: JSON.stringify(scored),
      },
    ]
  },
  partitionOf: (_user, { scored_at }) => isoDay(scored_at),
  lingerMs: SCORED_LINGER_MS,
}

/** Columns from which `scoredOf` restores the event. Select them in this order, and pass each row to `scoredOf`. */
export const SCORED_SELECTION = ['scored', ...FEATURE_NAMES].join(', ')

/** @param row the columns of `SCORED_SELECTION` */
export function scoredOf([scored, ...values]: readonly [string, ...FraudFeatures[keyof FraudFeatures][]]): TxnScored {
  const features = Object.fromEntries(FEATURE_NAMES.map((name, index) => [name, values[index]]))
  return { ...JSON.parse(scored), features: features as unknown as FraudFeatures }
}

function featureFields(): readonly Field[] {
  const { fields } = loadSchema('fraud/TxnScored') as { readonly fields: readonly Field[] }
  const { type } = fields.find(({ name }) => name === 'features') as Field
  return (type as { readonly fields: readonly Field[] }).fields
}

function columnOf({ name, type }: Field): string {
  const [plain] = [type].flat().filter((part) => part !== 'null') as string[]
  return `${name} ${COLUMN_TYPES[plain]}`
}
