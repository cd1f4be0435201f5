/** Names for the command line. They are in a separate file, so that printing the help does not load the services. */
export const PART_NAMES = ['recall', 'list', 'backlog', 'start', 'serve', 'memory', 'training'] as const
export type PartName = (typeof PART_NAMES)[number]
