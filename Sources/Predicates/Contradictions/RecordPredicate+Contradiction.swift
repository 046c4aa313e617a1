extension RecordPredicate {
    /// Why the predicate can never be true, where that is certain.
    package var contradiction: String? {
        let warnings = Contradictions.warnings(condition) { _ in PredicateWarning.Place(path: "predicate", offset: nil)
        }
        return warnings.first { $0.code == "predicate.never" }?.reason
    }
}
