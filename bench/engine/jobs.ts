import type { Job } from './job.ts'
import { matches } from './matches/job.ts'
import { velocity } from './velocity/job.ts'
import { windowedCounts } from './windowed-counts/job.ts'

export const JOB_NAMES = ['J1', 'J2', 'J3'] as const
export type JobName = (typeof JOB_NAMES)[number]

export const JOBS: Readonly<Record<JobName, Job>> = { J1: windowedCounts, J2: velocity, J3: matches }
