import { SNIPPETS_LIMITS } from '../snippets/limits.ts'
import type { LimitRule } from './rule.ts'

/**
 * Rules that apply from the start. Each service declares its own in `schemas/<service>/limits.ts`. A rule of the same
 * id in the topic of rules replaces its seed, even if it is inactive.
 */
export const SEEDED_RULES: readonly LimitRule[] = [...SNIPPETS_LIMITS]
