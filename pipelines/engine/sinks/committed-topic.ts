/** Matches the topic id at the beginning of the metadata of a commit. */
const TOPIC_ID = /^topic:(\S+) /

/**
 * Adds the id of the topic to the metadata of a commit.
 * @param topicId empty if the id is unknown; the metadata then stays as it is
 */
export function withTopicId(topicId: string, metadata: string): string {
  return topicId === '' ? metadata : `topic:${topicId} ${metadata}`
}

/** Returns the id of the topic that a commit belongs to; undefined if the metadata does not name it. */
export function topicIdIn(metadata: string): string | undefined {
  return TOPIC_ID.exec(metadata)?.[1]
}

/** Returns the metadata of a commit without the id of the topic. */
export function withoutTopicId(metadata: string): string {
  return metadata.replace(TOPIC_ID, '')
}

/**
 * Returns whether a commit belongs to the topic with this id. `other` means that the topic was deleted and created
 * again, so the committed offset and leader epoch do not apply to it. Returns `unknown` if one of the two ids is
 * missing. Commits of earlier versions contain no id.
 * @param topicId empty if the id is unknown
 */
export function committedTopic(topicId: string, metadata: string): 'same' | 'other' | 'unknown' {
  const committed = topicIdIn(metadata)
  if (topicId === '' || committed === undefined) return 'unknown'
  return committed === topicId ? 'same' : 'other'
}
