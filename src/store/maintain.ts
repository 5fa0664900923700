/**
 * What an operator does with a store as a whole: check it, upgrade its tables, distribute them over servers, copy it.
 */

/** One result of a check. */
export interface Finding {
  /** `problem`: something has to be done. `note`: a choice or a fact that matters. */
  readonly state: 'ok' | 'note' | 'problem'
  readonly about: string
  readonly finding: string
}

/** The outcome of an upgrade for some tables. Both versions are equal if nothing was done. */
export interface Upgrade {
  readonly tables: string
  /** 0: the tables did not exist. */
  readonly from: number
  readonly to: number
}

/** What an upgrade will do to some tables. */
export interface UpgradePlan extends Upgrade {
  /** Names of the steps. */
  readonly steps: readonly string[]
  /** Current size of the tables. */
  readonly bytes: number
  /** Roughly how long the service will not answer; 0 if there is nothing to do. */
  readonly seconds: number
  /** The tables were written by a newer release, so this release refuses them. */
  readonly isNewer: boolean
  /** The upgrade may temporarily need as many bytes again on the disk. */
  readonly rewritesRows: boolean
}

export interface DistributeOptions {
  /** Number of pieces into which a table, and each of its months, is split. At most this many servers can share it. */
  readonly shards: number
  readonly onProgress: (progress: { done: number; total: number; step: string }) => void
}

/** A table whose rows are spread over several servers. */
export interface Distributed {
  readonly table: string
  /** Rows with the same value in this column are stored together. */
  readonly by: string
  readonly shards: number
  /** Whether the table was already distributed. */
  readonly before: boolean
}

export interface CopyProgress {
  readonly step: 'copy' | 'compare'
  /** The table that is copied or compared. */
  readonly about: string
  /** Rows processed in this step. */
  readonly done: number
  readonly total: number
}

/** A part of a table that differs between the two stores. */
export interface CopyDifference {
  readonly table: string
  /** Feed and day; empty when the table is compared as a whole. */
  readonly part: string
  readonly sourceRows: number
  readonly targetRows: number
}
