import type { LimitRule } from './limit-rule.ts'
import type { AnyTopic } from './topic.ts'
import { serviceSchemas } from './topics.ts'

/** Every public topic. */
export const topics: readonly AnyTopic[] = serviceSchemas.flatMap((service) => service.topics)

/** The rate limit rules of all services that apply from the start. */
export const seededLimits: readonly LimitRule[] = serviceSchemas.flatMap(({ limits = [] }) => limits)
