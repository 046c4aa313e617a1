extension RecordPredicate {
    /// Why the predicate can never be true; nil if that is not certain.
    package var contradiction: String? {
        let warnings = Contradictions.warnings(condition) { _ in .init(path: "predicate", offset: nil) }
        return warnings.first { $0.code == "predicate.never" }?.reason
    }
}
