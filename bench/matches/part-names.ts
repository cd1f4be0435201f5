/** Names for the command line. They are in a separate file, so that printing the help does not load the services. */
export const PART_NAMES = ['swipe', 'feed', 'build', 'notify', 'pairs', 'hot', 'memory', 'seen'] as const
export type PartName = (typeof PART_NAMES)[number]
