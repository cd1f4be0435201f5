import type { LimitRule } from './limit-rule.ts'
import type { AnyTopic } from './topic.ts'

/** What one service declares of data in motion. */
export interface ServiceSchemas {
  readonly topics: readonly AnyTopic[]
  /** Rate limit rules that apply from the start. A stored rule of the same id replaces its seed, even if it is inactive. */
  readonly limits?: readonly LimitRule[]
}
