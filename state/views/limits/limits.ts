import type { LimitSetting } from '../../../schemas/limits/types.ts'
import type { View } from '../view.ts'

/** Only the results of commands: every API instance holds rules and API keys in memory. */
export const limitsView: View<string, LimitSetting> = { name: 'limits', operationsFor: () => [] }
