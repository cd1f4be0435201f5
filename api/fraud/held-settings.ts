import type { FraudList, FraudSetting } from '../../schemas/fraud/types.ts'
import type { Holding } from '../kit/small-table/holding.ts'

/** A list with its values in a set, so that a value can be looked up quickly. */
export interface HeldList extends Omit<FraudList, 'values'> {
  readonly values: ReadonlySet<string>
}

/**
 * A setting as an API process keeps it in memory. The key of the setting names its kind, and only the field for this
 * kind is not null.
 */
export interface HeldSetting extends Readonly<Omit<FraudSetting, 'list'>> {
  readonly list: HeldList | null
}

/** Version of the snapshot format. Increase this number when the code can no longer read earlier snapshots. */
const VERSION = 1

/**
 * Describes how a process keeps settings in memory.
 * @param onChange called after every change
 */
export function settingsHolding(onChange: () => void): Holding<FraudSetting, HeldSetting> {
  return {
    version: VERSION,
    hold: held,
    save: ({ list, ...setting }): FraudSetting => ({ ...setting, list: list && { ...list, values: [...list.values] } }),
    load: (saved) => held(saved as FraudSetting),
    onChange,
  }
}

function held({ list, ...setting }: FraudSetting): HeldSetting {
  return { ...setting, list: list && { ...list, values: new Set(list.values) } }
}
