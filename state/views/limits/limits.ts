import type { LimitSetting } from '../../../schemas/limits/types.ts'
import type { View } from '../view.ts'

/** Stores only the results of commands, because every API instance keeps rules and API keys in memory. */
export const limitsView: View<string, LimitSetting> = { name: 'limits', operationsFor: () => [] }
