/** What an operator does with a store as a whole: check it, bring its tables to the version of the program, spread them. */

/** One thing that was looked at. */
export interface Finding {
  /** `problem`: something has to be done. `note`: a choice or a fact that matters. */
  readonly state: 'ok' | 'note' | 'problem'
  readonly about: string
  readonly finding: string
}

/** Tables that were looked at for an upgrade. Both versions are the same where nothing was done. */
export interface Upgrade {
  readonly tables: string
  /** 0: there were none. */
  readonly from: number
  readonly to: number
}

/** What an upgrade will do to tables. */
export interface UpgradePlan extends Upgrade {
  /** Names of the steps. */
  readonly steps: readonly string[]
  /** Of the tables now. */
  readonly bytes: number
  /** About how long the service will not answer; 0: nothing to do. */
  readonly seconds: number
  /** They were written by a newer release: this one refuses them. */
  readonly isNewer: boolean
  /** Up to as many bytes again are needed on the disk while it runs. */
  readonly rewritesRows: boolean
}

export interface DistributeOptions {
  /** Into how many pieces a table is cut, and each of its months: at most so many servers can share it. */
  readonly shards: number
  readonly onProgress: (progress: { done: number; total: number; step: string }) => void
}

/** A table whose rows lie on several servers. */
export interface Distributed {
  readonly table: string
  /** Rows with the same value of this column lie together. */
  readonly by: string
  readonly shards: number
  /** It was already. */
  readonly before: boolean
}

export interface CopyProgress {
  readonly step: 'copy' | 'compare'
  /** The table. */
  readonly about: string
  /** Rows of this step. */
  readonly done: number
  readonly total: number
}

/** A part of a table that is not the same in both stores. */
export interface CopyDifference {
  readonly table: string
  /** Feed and day; empty where the table is compared as a whole. */
  readonly part: string
  readonly sourceRows: number
  readonly targetRows: number
}
