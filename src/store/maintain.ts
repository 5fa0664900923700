/** What an operator does with a store as a whole: check it and bring its tables to the version of the program. */

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
