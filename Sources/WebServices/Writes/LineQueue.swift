/// A user whose lines wait for the door. The gateway itself, which also sends lines, counts as one more user.
enum LineWriter: Hashable, Sendable {
    case user(String, container: String)
    case gateway
}

/// Lines that wait to be sent to the door. The users with lines take turns, one line at a turn, so that a user with
/// many lines does not hold up the others. The lines of one user keep their order.
struct LineQueue {
    private struct Place {
        /// The lines of each request.
        var requests: [ArraySlice<PendingLine>] = []
        var bytes = 0
    }

    /// Has no entry for a user without lines.
    private var places: [LineWriter: Place] = [:]
    /// The users with lines, in the order of their turns.
    private var turns: [LineWriter] = []
    /// The length of all lines.
    private(set) var bytes = 0

    /// The length of a user's lines.
    func bytes(of writer: LineWriter) -> Int { places[writer]?.bytes ?? 0 }

    /// - Parameter lines: Lines of one user.
    mutating func append(_ lines: [PendingLine]) {
        guard let writer = lines.first?.writer else { return }
        if places[writer] == nil { turns.append(writer) }
        let added = lines.reduce(0) { $0 + $1.bytes.count }
        places[writer, default: Place()].requests.append(lines[...])
        places[writer]?.bytes += added
        bytes += added
    }

    /// Takes lines: at most `countMax` lines, and at most `bytesMax` bytes including a line feed for each line. The
    /// first line is taken even if it is longer.
    mutating func take(countMax: Int, bytesMax: Int) -> [PendingLine] {
        var (taken, room, used) = ([PendingLine](), bytesMax, 0)
        while taken.count < countMax, used < turns.count, let line = places[turns[used]]?.requests.first?.first {
            guard taken.isEmpty || line.bytes.count < room else { break }
            room -= line.bytes.count + 1
            taken.append(line)
            if removeFirst(of: turns[used]) { turns.append(turns[used]) }
            used += 1
        }
        turns.removeFirst(used)
        return taken
    }

    /// - Returns: Whether the user has further lines.
    private mutating func removeFirst(of writer: LineWriter) -> Bool {
        guard var place = places.removeValue(forKey: writer), let line = place.requests[0].popFirst() else {
            return false
        }
        place.bytes -= line.bytes.count
        bytes -= line.bytes.count
        if place.requests[0].isEmpty { place.requests.removeFirst() }
        guard !place.requests.isEmpty else { return false }
        places[writer] = place
        return true
    }

    /// Removes the lines for which `isRemoved` is true.
    mutating func removeAll(where isRemoved: (PendingLine) -> Bool) {
        for (writer, place) in places {
            let kept = place.requests.map { $0.filter { !isRemoved($0) }[...] }.filter { !$0.isEmpty }
            let keptBytes = kept.joined().reduce(0) { $0 + $1.bytes.count }
            bytes -= place.bytes - keptBytes
            places[writer] = kept.isEmpty ? nil : Place(requests: kept, bytes: keptBytes)
        }
        turns.removeAll { places[$0] == nil }
    }
}
