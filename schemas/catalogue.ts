import type { LimitRule } from './limit-rule.ts'
import { serviceSchemas } from './topics.ts'

/** The initial rate limit rules of all services. */
export const seededLimits: readonly LimitRule[] = serviceSchemas.flatMap(({ limits = [] }) => limits)
