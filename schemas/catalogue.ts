import type { LimitRule } from './limit-rule.ts'
import type { AnyTopic } from './topic.ts'
import { serviceSchemas } from './topics.ts'

/** All public topics. */
export const topics: readonly AnyTopic[] = serviceSchemas.flatMap((service) => service.topics)

/** The initial rate limit rules of all services. */
export const seededLimits: readonly LimitRule[] = serviceSchemas.flatMap(({ limits = [] }) => limits)
