/// The version of a record: CloudKit's `recordChangeTag`.
///
/// The tag is the sequence, in the changes log, of the newest `record.save` that wrote the record. Belfry does not
/// write the tag into the event: a reader of the log derives it from the event's sequence. A `recordChangeTag` in an
/// event comes from the producer, and Belfry has not checked it.
package struct ChangeTag: Hashable, Sendable {
    package let sequence: UInt64

    package init(sequence: UInt64) { self.sequence = sequence }

    /// Parses a tag; nil for a string that ``text`` never returns.
    package init?(parsing text: String) {
        guard let sequence = UInt64(text, radix: ChangeTag.radix), ChangeTag(sequence: sequence).text == text else {
            return nil
        }
        self.init(sequence: sequence)
    }

    /// The sequence in base 36, in lower case.
    package var text: String { String(sequence, radix: ChangeTag.radix) }

    private static let radix = 36
}
