import JSON
import Predicates

/// Lists of subscriptions by what a change must have for them to be worth a look.
///
/// Adding and removing cost the same however long a list is.
struct PostingLists {
    /// What the subscriptions of one list have in common.
    struct Key: Hashable {
        enum Shelf: UInt8 { case equality, scan, zone, database }

        let scope: Int32
        let shelf: Shelf
        /// A record type for queries, a zone for zones.
        var name: Int32 = 0
        var value: EqualityKey?

        @inline(__always)
        var hash: Int {
            let place = UInt64(UInt32(bitPattern: scope)) << 32 | UInt64(UInt32(bitPattern: name))
            return ByteHash.of(place, salt: UInt64(shelf.rawValue)) ^ (value?.hash ?? 0)
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    /// What decides about most subscriptions without a look at them.
    struct Entry {
        /// Stands for no restriction where a symbol is asked for.
        static let any: Int32 = -1

        let slot: Int32
        var posting: Int32 = 0
        let zone: Int32
        let recordType: Int32
        let firesOn: Reason
    }

    private struct List {
        var key: Key
        var entries: [Entry] = []
    }

    private struct Posting {
        var list: Int32
        var position: Int32
    }

    private var numbers = HashedNumbers()
    private var lists = Pool<List>()
    private var postings = Pool<Posting>()

    /// Number of lists that are not empty.
    var count: Int { numbers.count }

    func count(of key: Key) -> Int { find(key).map { lists[$0].entries.count } ?? 0 }

    mutating func reserveCapacity(_ count: Int) { postings.reserveCapacity(count) }

    /// Calls `body` for each entry under a key.
    @inline(__always)
    func forEach(under key: Key, _ body: (borrowing Entry) -> Void) {
        guard let number = find(key) else { return }
        lists[number].entries.withUnsafeBufferPointer { for entry in $0 { body(entry) } }
    }

    /// - Returns: What ``remove(_:)`` takes.
    mutating func add(_ entry: Entry, under key: Key) -> Int32 {
        let number = number(of: key)
        var entry = entry
        entry.posting = postings.add(Posting(list: number, position: Int32(lists[number].entries.count)))
        lists[number].entries.append(entry)
        return entry.posting
    }

    mutating func remove(_ posting: Int32) {
        let (number, position) = (postings[posting].list, Int(postings[posting].position))
        let last = lists[number].entries.removeLast()
        if position < lists[number].entries.count {
            lists[number].entries[position] = last
            postings[last.posting].position = Int32(position)
        }
        postings.free(posting)
        if lists[number].entries.isEmpty { removeList(number) }
    }

    @inline(__always)
    private func find(_ key: Key) -> Int32? { numbers.find(key.hash) { lists[$0].key == key } }

    private mutating func number(of key: Key) -> Int32 {
        if let number = find(key) { return number }
        let number = lists.add(List(key: key))
        numbers.insert(number, key.hash)
        return number
    }

    private mutating func removeList(_ number: Int32) {
        numbers.remove(number, lists[number].key.hash)
        lists[number].entries = []
        lists.free(number)
    }
}

/// Values by small numbers that are used again.
struct Pool<Element> {
    private var elements: [Element] = []
    private var free: [Int32] = []

    @inline(__always)
    subscript(number: Int32) -> Element {
        _read { yield elements[Int(number)] }
        _modify { yield &elements[Int(number)] }
    }

    mutating func add(_ element: Element) -> Int32 {
        if let number = free.popLast() {
            elements[Int(number)] = element
            return number
        }
        elements.append(element)
        return Int32(elements.count - 1)
    }

    mutating func reserveCapacity(_ count: Int) { elements.reserveCapacity(count) }

    mutating func free(_ number: Int32) { free.append(number) }
}
