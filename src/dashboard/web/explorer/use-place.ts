import { useEffect, useRef } from 'preact/hooks'
import { navigate, notePath, readPath } from '../navigate.ts'
import { type Place, placePath, readPlace } from './place.ts'

/** Changes the place in the address; omitted members stay. */
export function go(change: Partial<Place>): void {
  navigate(placePath({ ...readPlace(readPath()), ...change }))
}

/**
 * Writes the moment shown into the address, without a new history entry for every step. Does nothing if the reader has
 * already moved on, so that the address is neither the one this view was drawn for nor one that it has written.
 */
export function useNoteTime(asked: Place): (time: number | undefined) => void {
  const basis = placePath(asked)
  const own = useRef({ basis, noted: basis })
  if (own.current.basis !== basis) own.current = { basis, noted: basis }
  return (time) => {
    // A timer of the previous view can fire between the rendering of this one and the effects that clear the timer.
    if (own.current.basis !== basis) return
    const path = readPath()
    const here = path === '' || path.startsWith('explorer') ? placePath(readPlace(path)) : undefined
    if (here !== own.current.basis && here !== own.current.noted) return
    own.current.noted = placePath({ ...asked, time })
    notePath(own.current.noted)
  }
}

/** Writes what a view has chosen by itself into the address, so that the address opens exactly this view again. */
export function useAddress(asked: Place, shown: Place): void {
  const path = timeless(shown)
  useEffect(() => {
    // The time is the reader's choice and is already in the address.
    if (isStill(asked)) navigate(placePath({ ...shown, time: readPlace(readPath()).time }), 'replace')
  }, [path, timeless(asked)])
}

const timeless = (place: Place) => placePath({ ...place, time: undefined })

/** Whether the address is the one that a view was drawn for; the reader may have moved on. */
function isStill(asked: Place): boolean {
  const path = readPath()
  return (path === '' || path.startsWith('explorer')) && timeless(readPlace(path)) === timeless(asked)
}
