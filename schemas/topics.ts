import { limitsTopics } from './limits/topics.ts'
import { linksTopics } from './links/topics.ts'
import { snippetsTopics } from './snippets/topics.ts'
import type { AnyTopic } from './topic.ts'
import { trendsTopics } from './trends/topics.ts'

/** Every public topic: one line per service. */
export const topics: readonly AnyTopic[] = [...trendsTopics, ...linksTopics, ...limitsTopics, ...snippetsTopics]
