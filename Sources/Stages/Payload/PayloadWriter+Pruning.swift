import JSON

extension PayloadWriter {
    /// The parts that a payload of ``Push/payloadBytesMax`` bytes has room for.
    ///
    /// Parts are left out in their order until it fits; then whatever fits again is put back, the most valuable first.
    /// So one long part costs no others, and no part that would have had room is missing.
    ///
    /// - Parameter mayBeVisible: False for a push that must go in the background.
    func fittingParts(_ badge: Int, mayBeVisible: Bool = true) -> PayloadParts {
        let all = mayBeVisible ? parts : parts.subtracting(.visible).subtracting(.contentAvailable)
        guard bytes(all, badge) > Push.payloadBytesMax else { return all }
        var kept = partsInOrder(of: all, badge)
        for part in all.subtracting(kept).mostValuableFirst {
            let more = kept.union(part)
            if bytes(more, badge) <= Push.payloadBytesMax { kept = more }
        }
        return kept
    }

    /// All parts but as few of the first as there is no room for.
    ///
    /// Each part that goes makes the payload shorter, so their number is found by halving. But when the last visible part
    /// goes, what makes a push one of the background comes, and that may be longer: before and behind are looked at apart.
    private func partsInOrder(of all: PayloadParts, _ badge: Int) -> PayloadParts {
        func isTooLong(without count: Int) -> Bool { bytes(all.dropping(count), badge) > Push.payloadBytesMax }
        let visible = all.countBeforeLastVisible
        var (tooFew, enough) = (0, visible)
        if visible == 0 || isTooLong(without: visible) { (tooFew, enough) = (visible, all.count) }
        while enough - tooFew > 1 {
            let count = (tooFew + enough) / 2
            if isTooLong(without: count) { tooFew = count } else { enough = count }
        }
        return all.dropping(enough)
    }

    /// The length of the payload with some of its parts.
    func bytes(_ kept: PayloadParts, _ badge: Int) -> Int {
        var buffer = ByteBuffer(capacity: 8 << 10)
        write(kept, badge, into: &buffer)
        return buffer.count
    }
}
