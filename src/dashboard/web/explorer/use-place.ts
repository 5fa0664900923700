import { useEffect, useRef } from 'preact/hooks'
import { navigate, notePath, readPath } from '../navigate.ts'
import { type Place, placePath, readPlace } from './place.ts'

/** Changes the place in the address; what is not given stays. */
export function go(change: Partial<Place>): void {
  navigate(placePath({ ...readPlace(readPath()), ...change }))
}

/**
 * Notes in the address which moment is shown, without a new entry in the history for every step. Not where the reader
 * has moved on already: the address is then another one than this view was drawn for or has noted.
 */
export function useNoteTime(asked: Place): (time: number | undefined) => void {
  const basis = placePath(asked)
  const own = useRef({ basis, noted: basis })
  if (own.current.basis !== basis) own.current = { basis, noted: basis }
  return (time) => {
    // A timer of the view before fires between the drawing of this one and the effects that clear it.
    if (own.current.basis !== basis) return
    const path = readPath()
    const here = path === '' || path.startsWith('explorer') ? placePath(readPlace(path)) : undefined
    if (here !== own.current.basis && here !== own.current.noted) return
    own.current.noted = placePath({ ...asked, time })
    notePath(own.current.noted)
  }
}

/** Writes what a view has chosen by itself into the address, so that the address opens just this again. */
export function useAddress(asked: Place, shown: Place): void {
  const path = timeless(shown)
  useEffect(() => {
    // The time is the reader's, and is in the address already.
    if (isStill(asked)) navigate(placePath({ ...shown, time: readPlace(readPath()).time }), 'replace')
  }, [path, timeless(asked)])
}

const timeless = (place: Place) => placePath({ ...place, time: undefined })

/** Whether the address is the one that a view was drawn for: the reader may have moved on. */
function isStill(asked: Place): boolean {
  const path = readPath()
  return (path === '' || path.startsWith('explorer')) && timeless(readPlace(path)) === timeless(asked)
}
