extension RecordPredicate {
    /// Why the predicate can never be true, where that is certain.
    package var contradiction: String? {
        Contradictions.warnings(self) { _ in PredicateWarning.Place(path: "predicate", offset: nil) }.first?.reason
    }
}
