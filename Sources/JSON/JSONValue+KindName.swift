extension JSONValue {
    /// The kind for an error message, such as `a number`.
    package var kindName: String {
        switch kind {
        case .null: "null"
        case .true, .false: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
