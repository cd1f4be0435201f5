import { NO_SETTINGS } from '../../settings/fragment.ts'

export const fraudSettings = NO_SETTINGS

export type FraudSettings = ReturnType<typeof fraudSettings.value>
