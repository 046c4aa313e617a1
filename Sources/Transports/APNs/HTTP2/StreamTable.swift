/// The open streams of a connection, found by their number without a search.
///
/// A client's streams have the numbers 1, 3, 5, … (RFC 9113, section 5.1.1), and close nearly in that order. So in a
/// ring with enough places, two open streams seldom need the same place. If they do, the ring grows.
struct StreamTable {
    struct Stream {
        /// The stream's number; 0 in a free place of the ring.
        var id: UInt32 = 0
        var tag = 0
        /// How many bytes of the body the server still accepts. May become negative when the server makes the window
        /// smaller.
        var window = 0
        /// The final status; 0 before it is known.
        var status = 0
    }

    private(set) var count = 0
    private var places = [Stream](repeating: Stream(), count: 64)

    @inline(__always)
    private func place(of id: UInt32) -> Int { Int(id >> 1) & (places.count - 1) }

    mutating func insert(_ stream: Stream) {
        while places[place(of: stream.id)].id != 0 { grow() }
        places[place(of: stream.id)] = stream
        count += 1
    }

    @inline(__always)
    subscript(id: UInt32) -> Stream? {
        let stream = places[place(of: id)]
        return stream.id == id && id != 0 ? stream : nil
    }

    @inline(__always)
    mutating func update(_ id: UInt32, _ change: (inout Stream) -> Void) {
        let place = place(of: id)
        if places[place].id == id, id != 0 { change(&places[place]) }
    }

    /// The number of the stream with this tag, found by a search.
    func id(of tag: Int) -> UInt32? { places.first { $0.id != 0 && $0.tag == tag }?.id }

    mutating func updateAll(_ change: (inout Stream) -> Void) {
        for place in places.indices where places[place].id != 0 { change(&places[place]) }
    }

    @inline(__always)
    mutating func remove(_ id: UInt32) -> Stream? {
        let place = place(of: id)
        guard places[place].id == id, id != 0 else { return nil }
        defer { places[place].id = 0 }
        count -= 1
        return places[place]
    }

    /// Removes all streams with a higher number, and returns them, lowest first.
    mutating func removeAll(above id: UInt32) -> [Stream] {
        let removed = places.filter { $0.id > id }.sorted { $0.id < $1.id }
        for stream in removed { _ = remove(stream.id) }
        return removed
    }

    private mutating func grow() {
        let old = places
        places = [Stream](repeating: Stream(), count: old.count * 2)
        count = 0
        for stream in old where stream.id != 0 { insert(stream) }
    }
}
