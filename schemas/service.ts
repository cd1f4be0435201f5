import type { LimitRule } from './limit-rule.ts'
import type { AnyTopic } from './topic.ts'

export interface ServiceSchemas {
  readonly topics: readonly AnyTopic[]
  /**
   * Initial rate limit rules. A stored rule with the same id replaces the initial rule, even if the stored rule is
   * inactive.
   */
  readonly limits?: readonly LimitRule[]
}
