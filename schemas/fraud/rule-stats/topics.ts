import { utf8 } from '../../keys.ts'
import { avro } from '../../load.ts'
import { DAY_MS, HOUR_MS, keptFor } from '../../retention.ts'
import type { Topic } from '../../topic.ts'
import type { FraudRuleTallies } from '../types.ts'

/**
 * Counts of rule results in each API process; key: the id of the process (`node`). Kept for a day, which is long enough
 * to refill a repaired table.
 */
export const fraudRuleTallies: Topic<string, FraudRuleTallies> = {
  name: 'fraud-rule-tallies',
  key: utf8,
  value: avro('fraud/FraudRuleTallies'),
  partitions: 1,
  productionPartitions: 4,
  config: keptFor(DAY_MS, HOUR_MS),
}
